/** Retries by copy, and records: what goes along of the message, and what does not. */

import assert from "node:assert/strict";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { B0, b0, TP, TR, U } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { inLab, type Lab, nativeText } from "./lab.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

function live(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () => inLab(broker().url, work), { ignore });
}

/** Everything that a message can carry beside the contract's slots. */
const NATIVE = {
  priority: 7,
  message_id: "m-1",
  reply_to: "answers",
  group_id: "g-1",
  content_type: "application/json",
} as const;
const FOREIGN = { traceparent: TP, tenant: "größe 7", answer: 42, flag: true, "x-hyphen": "h" };

async function failOnce(lab: Lab, body: string, delayMs: number): Promise<void> {
  const { bq } = lab.app({ maxAttempts: 10, retry: { baseMs: delayMs } });
  bq.handle(U, () => {
    throw new Error("fails");
  });
  await lab.peer.send(lab.queue, {
    body,
    correlation_id: "another",
    ...NATIVE,
    message_annotations: { "x-opt-jms-type": "another", "x-opt-own": "kept" },
    application_properties: { ...FOREIGN, bq_replay_bypass: "1", _AMQ_DUPL_ID: "once" },
  });
  assert.equal((await bq.consume({ maxMessages: 1, waitMs: 10_000 })).retried, 1);
  await bq.close();
}

live(
  "a delayed retry is a scheduled copy, one attempt further, with all that came",
  async (lab) => {
    await failOnce(lab, B0, 300);
    const transport = await lab.transport();
    const { delayed } = await transport.size(lab.queue);
    assert.equal(delayed, 1);
    const [copy = {}] = await lab.peer.receive(lab.queue);
    assert.equal(copy.body, b0({ attempts: '"attempts":1' }));
    assert.equal(copy.delivery_count ?? 0, 0);
    assert.deepEqual({ ...copy, ...NATIVE }, { ...copy });
    assert.equal(copy["subject"], U);
    assert.equal(copy.correlation_id, TR);
    const { "x-opt-delivery-time": time, ...annotations } = { ...copy.message_annotations };
    assert.equal(typeof time, "number");
    assert.deepEqual(annotations, { "x-opt-jms-type": "another", "x-opt-own": "kept" });
    assert.deepEqual({ ...copy.application_properties }, {
      ...FOREIGN,
      bq_replay_bypass: "1",
      bq_schema_version: "1",
      bq_source_lang: "go",
      bq_attempts: "1",
      bq_app_id: "babelqueue",
      bq_delay: "300",
    });
  },
);

for (const spelling of ["bq-replay-bypass", "bq_replay_bypass"]) {
  live(
    `a replay marked as ${spelling} is one, and its copy is marked as JMS allows`,
    async (lab) => {
      const { bq } = lab.app({ maxAttempts: 5, retry: { baseMs: 50 } });
      const replays: boolean[] = [];
      bq.handle(U, (_, { replay }) => {
        replays.push(replay);
        throw new Error("fails");
      });
      for (const properties of [{ [spelling]: "1" }, {}]) {
        await lab.peer.send(lab.queue, { body: B0, application_properties: properties });
        assert.equal((await bq.consume({ maxMessages: 1, waitMs: 10_000 })).retried, 1);
        const [copy = {}] = await lab.peer.receive(lab.queue);
        const { bq_replay_bypass, "bq-replay-bypass": hyphened } = copy.application_properties!;
        const marker = spelling in properties ? "1" : undefined;
        assert.deepEqual([bq_replay_bypass, hyphened], [marker, undefined]);
      }
      assert.deepEqual(replays, [true, false]);
    },
  );
}

live(
  "a body that counts more than the broker is retried by a copy: a return would not count",
  async (lab) => {
    await failOnce(lab, b0({ attempts: '"attempts":4' }), 0);
    const [copy = {}] = await lab.peer.receive(lab.queue);
    assert.equal(copy.body, b0({ attempts: '"attempts":5' }));
    assert.equal(copy.delivery_count ?? 0, 0);
    assert.equal(copy.application_properties?.["bq_attempts"], "5");
  },
);

live("a message that is retried both ways counts on", async (lab) => {
  const attempts: number[] = [];
  const { bq } = lab.app({ maxAttempts: 7, retry: { baseMs: 0 } });
  bq.handle(U, (_, ctx) => {
    attempts.push(ctx.attempt);
    throw new Error("fails");
  });
  await lab.peer.send(lab.queue, { body: b0({ attempts: '"attempts":2' }) });
  for (let times = 0; times < 2; times++) await lab.peer.receive(lab.queue, 1, "fail");
  await bq.consume({ maxMessages: 5, waitMs: 5_000 });
  assert.deepEqual(attempts, [3, 4, 5, 6, 7]);
});

live("a record carries what came, but neither the replay marker nor a delay", async (lab) => {
  const { bq } = lab.app({ deadLetter: true, maxAttempts: 1 });
  bq.handle(U, () => {
    throw new Error("fails");
  });
  await lab.peer.send(lab.queue, {
    body: B0,
    ...NATIVE,
    message_annotations: { "x-opt-delivery-time": Date.now() - 1 },
    application_properties: { ...FOREIGN, bq_replay_bypass: "1", bq_delay: "5" },
  });
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  const [record = {}] = await lab.peer.receive(lab.dead);
  assert.deepEqual({ ...record, ...NATIVE }, { ...record });
  assert.deepEqual({ ...record.message_annotations }, { "x-opt-jms-type": U });
  assert.deepEqual({ ...record.application_properties }, {
    ...FOREIGN,
    bq_schema_version: "1",
    bq_source_lang: "go",
    bq_attempts: "1",
    bq_app_id: "babelqueue",
  });
});

live("a record of what nobody can read carries no slot of the contract", async (lab) => {
  const { bq } = lab.app({ deadLetter: true });
  await lab.peer.send(lab.queue, { body: "not json", application_properties: { tenant: "7" } });
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  const [record = {}] = await lab.peer.receive(lab.dead);
  assert.equal(JSON.parse(nativeText(record)).raw, "not json");
  assert.deepEqual({ ...record.application_properties }, { tenant: "7" });
  assert.equal(record.message_annotations, undefined);
});

live(
  "a record of what is newer says the count of the broker, not that of its body",
  async (lab) => {
    const { bq } = lab.app({ deadLetter: true });
    const newer = b0({ attempts: '"attempts":5' })
      .replace('"schema_version":1', '"schema_version":2');
    await lab.peer.send(lab.queue, { body: newer });
    for (let times = 0; times < 2; times++) await lab.peer.receive(lab.queue, 1, "fail");
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    const [record = {}] = await lab.peer.receive(lab.dead);
    assert.equal(JSON.parse(nativeText(record)).dead_letter.attempts, 2);
    assert.equal(record.application_properties?.["bq_attempts"], "2");
  },
);

live("a restore has every slot as it came", async (lab) => {
  const transport = await lab.transport();
  const properties = {
    bq_schema_version: "2",
    bq_attempts: "9",
    bq_replay_bypass: "1",
    ...FOREIGN,
  };
  await lab.peer.send(lab.queue, {
    body: "any",
    correlation_id: "c-1",
    message_annotations: { "x-opt-jms-type": "type-1" },
    application_properties: properties,
  });
  const subscription = await lab.subscribe(transport);
  const [from] = await subscription.receive(1, 10_000);
  await transport.publish(lab.dead, [{ body: from!.body, from: from!, verbatim: true }]);
  const [restored = {}] = await lab.peer.receive(lab.dead);
  assert.equal(restored.correlation_id, "c-1");
  assert.deepEqual({ ...restored.message_annotations }, { "x-opt-jms-type": "type-1" });
  assert.deepEqual({ ...restored.application_properties }, properties);
  await subscription.settle(from!, { kind: "ack" });
});

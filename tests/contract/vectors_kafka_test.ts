/** Worked cases of the contract on Kafka: V702 to V720, on a real broker where a record is looked at. */

import assert from "node:assert/strict";
import { BabelQueueError } from "@bq/core";
import { kafkaCounting, reconcile } from "@bq/core/transport";
import { DEFAULT_RETRY_TIERS_MS, delayTier, kafka, retryTier, retryTopic } from "@bq/kafka";
import { dueMs } from "../../transports/kafka/_reinjection.ts";
import { forwardRecord } from "../../transports/kafka/project.ts";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { type Bench, onBench } from "../kafka/bench.ts";
import { headersOf, text } from "../kafka/lab.ts";
import { B0, B2, TP, U } from "./_vectors.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());
const TIERS = DEFAULT_RETRY_TIERS_MS;
const NOW = 1_760_000_001_000;

function vector(
  name: string,
  tiersMs: readonly number[],
  work: (bench: Bench) => Promise<void>,
): void {
  test(name, () => onBench(broker(), { retryTiersMs: tiersMs }, work), { ignore });
}

/** A worker that fails whatever it knows takes one record. */
async function workOn(bench: Bench, queue: string, options: object): Promise<string[]> {
  const { bq, seen } = bench.app(queue, options);
  bq.handle(U, () => {
    throw new Error("fails");
  });
  await bq.consume({ maxMessages: 1, waitMs: 20_000 });
  await bq.close();
  return seen.events.map(({ type }) => type);
}

test("V702 the header counts where it is a number, else the body", () => {
  const cases: [number, string | undefined, number][] = [
    [0, "0", 0],
    [0, "2", 2],
    [3, undefined, 3],
    [5, "1", 1],
    [1, "4", 4],
    [2, "abc", 2],
    [2, "", 2],
  ];
  for (const [body, header, expected] of cases) {
    assert.equal(reconcile(body, kafkaCounting(header)), expected, `(${body}, ${header})`);
  }
});

test("V703 every attempt takes the next tier, from then on the last", () => {
  const picked = [0, 1, 2, 3, 4, 9].map((attempts) =>
    retryTopic("shop", retryTier(TIERS, attempts).number)
  );
  assert.deepEqual(picked, [1, 2, 3, 4, 4, 4].map((tier) => `shop.retry.${tier}`));
});

test("V704 a delay takes the smallest tier that is long enough", () => {
  const delays = [1, 5_000, 5_001, 300_000, 1_800_000];
  const picked = delays.map((delayMs) => delayTier(TIERS, delayMs, "shop").number);
  assert.deepEqual(picked, [1, 1, 2, 3, 4]);
  assert.throws(
    () => delayTier(TIERS, 1_800_001, "shop"),
    /Cannot publish to 'shop': delay 1800001 ms exceeds the largest retry tier of 1800000 ms/,
  );
});

test("without tiers neither a delay nor a retry has one, and the error says so", () => {
  const unsupported = { code: "unsupported", message: /no retry tiers are set/ };
  assert.throws(() => delayTier([], 1, "shop"), unsupported);
  assert.throws(() => retryTier([], 0), unsupported);
});

vector("V704 bq-delay is the delay that was asked for", TIERS, async (bench) => {
  const queue = await bench.queue();
  const transport = await bench.open();
  const body = new TextEncoder().encode(B0);
  await transport.publish(queue, [{ body, delayMs: 1 }, { body, delayMs: 5_001 }]);
  for (const [tier, delay] of [[1, "1"], [2, "5001"]] as const) {
    const [written] = await bench.lab.read(retryTopic(queue, tier));
    const headers = new Map(headersOf(written!));
    assert.deepEqual([headers.get("bq-delay"), headers.get("bq-original-topic")], [delay, queue]);
    assert.equal(text(written!.value), B0);
  }
  await assert.rejects(transport.publish(queue, [{ body, delayMs: 1_800_001 }]), BabelQueueError);
});

vector("V706 a second failure takes the second tier", TIERS, async (bench) => {
  const queue = await bench.queue();
  await bench.lab.write(queue, [{ value: B0, headers: { "bq-attempts": "1" } }]);
  await workOn(bench, queue, { deadLetter: true });
  const [written] = await bench.lab.read(retryTopic(queue, 2));
  const headers = new Map(headersOf(written!));
  assert.deepEqual([headers.get("bq-attempts"), headers.get("bq-delay")], ["2", "30000"]);
  assert.equal(text(written!.value), B2);
});

test("V707 a wait ends a tier after the record's time, and never later than a tier from now", () => {
  const tier = 5_000;
  assert.equal(dueMs(1_760_000_000_000, tier, NOW), 1_760_000_005_000);
  assert.equal(dueMs(1_760_000_000_000, tier, 1_760_000_009_000), 1_760_000_009_000);
  assert.equal(dueMs(1_760_000_099_000, tier, NOW), 1_760_000_006_000);
  for (const unusable of [-1, NaN]) assert.equal(dueMs(unusable, tier, NOW), 1_760_000_006_000);
});

test("V708 what is forwarded keeps its bytes, its key and every header but two", () => {
  const bytes = (value: string) => new TextEncoder().encode(value);
  const source = {
    topic: "shop.retry.1",
    value: bytes(B0),
    key: bytes("k"),
    headers: [
      ["traceparent", bytes(TP)],
      ["bq-attempts", bytes("1")],
      ["bq-delay", bytes("5000")],
      ["bq-original-topic", bytes("shop")],
    ] as const,
  };
  assert.deepEqual(forwardRecord(source, NOW), {
    topic: "shop",
    value: source.value,
    key: source.key,
    headers: source.headers.slice(0, 2),
    timestampMs: NOW,
  });
});

vector(
  "V712 a record at its cap is dead-lettered with its key, then committed",
  TIERS,
  async (bench) => {
    for (const key of [null, "", "k"]) {
      const queue = await bench.queue();
      await bench.lab.write(queue, [{ value: B2, key, headers: { "bq-attempts": "2" } }]);
      await workOn(bench, queue, { deadLetter: true });
      const [written] = await bench.lab.read(`${queue}.dlq`);
      assert.equal(written!.key === null ? null : text(written!.key), key);
      const { attempts, dead_letter } = JSON.parse(text(written!.value));
      assert.deepEqual([attempts, dead_letter.attempts, dead_letter.reason], [3, 3, "failed"]);
      assert.equal(dead_letter.original_queue, queue);
      const headers = new Map(headersOf(written!));
      assert.deepEqual([headers.get("bq-attempts"), headers.get("bq-original-topic")], [
        "3",
        queue,
      ]);
      assert.equal(await bench.lab.committed(bench.groupId, queue), 1n);
    }
  },
);

vector("V712 without dead-lettering it is committed, and that is told", TIERS, async (bench) => {
  const queue = await bench.queue();
  await bench.lab.write(queue, [{ value: B2, headers: { "bq-attempts": "2" } }]);
  assert.ok((await workOn(bench, queue, { deadLetter: false })).includes("dropped"));
  assert.equal(await bench.lab.committed(bench.groupId, queue), 1n);
  assert.deepEqual(await bench.lab.read(`${queue}.dlq`), []);
});

vector(
  "V714 poison is recorded with its key, dropped, or retried as it is",
  TIERS,
  async (bench) => {
    const poison = { value: '{"x":1}', key: "k" };
    const recorded = await bench.queue();
    await bench.lab.write(recorded, [poison]);
    await workOn(bench, recorded, { deadLetter: true });
    const [record] = await bench.lab.read(`${recorded}.dlq`);
    assert.equal(text(record!.key), "k");
    assert.match(text(record!.value), /^\{"x":1,"dead_letter":\{"reason":"poison",/);

    const deleted = await bench.queue();
    await bench.lab.write(deleted, [poison]);
    await workOn(bench, deleted, { deadLetter: true, onUnknownUrn: "delete" });
    assert.deepEqual(await bench.lab.read(`${deleted}.dlq`), []);

    const retried = await bench.queue();
    await bench.lab.write(retried, [poison]);
    await workOn(bench, retried, { deadLetter: false });
    const [copy] = await bench.lab.read(retryTopic(retried, 1));
    assert.deepEqual([text(copy!.value), text(copy!.key)], ['{"x":1}', "k"]);
    assert.equal(new Map(headersOf(copy!)).get("bq-attempts"), "1");
    for (const queue of [recorded, deleted, retried]) {
      assert.equal(await bench.lab.committed(bench.groupId, queue), 1n);
    }
  },
);

vector("V714 poison without dead-lettering and tiers is committed and told", [], async (bench) => {
  const queue = await bench.queue();
  await bench.lab.write(queue, [{ value: '{"x":1}' }]);
  assert.ok((await workOn(bench, queue, { deadLetter: false })).includes("dropped"));
  assert.equal(await bench.lab.committed(bench.groupId, queue), 1n);
});

vector("V715 a gated record goes as it is, or is committed and told", TIERS, async (bench) => {
  const gated = { value: "not json", key: "k", headers: { "bq-schema-version": "2" } };
  const on = await bench.queue();
  await bench.lab.write(on, [gated]);
  await workOn(bench, on, { deadLetter: true });
  const [record] = await bench.lab.read(`${on}.dlq`);
  assert.deepEqual([text(record!.value), text(record!.key)], ["not json", "k"]);
  assert.deepEqual(headersOf(record!), [["bq-schema-version", "2"]]);

  const off = await bench.queue();
  await bench.lab.write(off, [gated]);
  assert.ok((await workOn(bench, off, { deadLetter: false })).includes("dropped"));
  assert.deepEqual(await bench.lab.read(`${off}.dlq`), []);
  for (const queue of [on, off]) {
    assert.equal(await bench.lab.committed(bench.groupId, queue), 1n);
  }
});

vector(
  "V715 a record that cannot be written leaves the original uncommitted",
  TIERS,
  async (bench) => {
    const queue = await bench.queue();
    await bench.lab.configure([`${queue}.dlq`], { "max.message.bytes": "1" });
    await bench.lab.write(queue, [{ value: "x", headers: { "bq-schema-version": "2" } }]);
    assert.ok((await workOn(bench, queue, { deadLetter: true })).includes("writeFailed"));
    assert.equal(await bench.lab.committed(bench.groupId, queue), 0n);
    await bench.lab.configure([`${queue}.dlq`], { "max.message.bytes": "1048588" });
    assert.ok((await workOn(bench, queue, { deadLetter: true })).includes("deadLettered"));
  },
);

vector("V716 the first of two headers of a name counts", TIERS, async (bench) => {
  const queue = await bench.queue();
  await bench.lab.write(queue, [{ value: B0, headers: { "bq-attempts": ["1", "2"] } }]);
  const delivery = await bench.one(await bench.subscribe(queue));
  assert.deepEqual(delivery.counting, { replaces: 1 });
});

vector(
  "V719 a restored record is the one that was taken, with a time of its own",
  TIERS,
  async (bench) => {
    const queue = await bench.queue();
    const headers = { "bq-job": U, "x-a": ["1", "2"], "bq-delay": "7" };
    await bench.lab.write(queue, [{ value: "not json", key: "", headers, timestamp: 1 }]);
    const transport = await bench.open();
    const subscription = await bench.subscribe(queue, { transport });
    const delivery = await bench.one(subscription);
    const back = { body: delivery.body, from: delivery, verbatim: true } as const;
    await transport.publish(queue, [back]);
    await subscription.settle(delivery, { kind: "ack" });
    const [first, second] = await bench.lab.read(queue);
    assert.deepEqual([second!.value, second!.key], [first!.value, first!.key]);
    assert.deepEqual(headersOf(second!), headersOf(first!));
  },
);

test("V720 tiers that do not rise are refused", () => {
  for (const tiers of [[30_000, 5_000], [5_000, 5_000], [0, 5_000], [5_000, 1.5]]) {
    assert.throws(() => kafka({ retryTiersMs: tiers }), BabelQueueError, `${tiers}`);
  }
});

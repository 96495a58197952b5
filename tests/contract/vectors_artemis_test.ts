/** Worked cases of the contract on Artemis: V801 to V809, and V004, V006, V038, on a real broker. */

import assert from "node:assert/strict";
import type { Delivery } from "@bq/core";
import { reconcile, versionGate } from "@bq/core/transport";
import rhea from "rhea";
import { bytes, inLab, type Lab, nativeText, text } from "../artemis/lab.ts";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { resolveOptions } from "../../transports/artemis/options.ts";
import { toMessage } from "../../transports/artemis/project.ts";
import { B0, b0, B2, deadLetterText, META, TP, TR, U } from "./_vectors.ts";
import { NOW_MS } from "./_decisions.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

function vector(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () => inLab(broker().url, work), { ignore });
}

/** A clock that stands still while everything else goes on. */
const clockOf = (now: number) => ({
  now: () => now,
  elapsed: () => performance.now(),
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    }),
});

async function receiveOne(lab: Lab): Promise<Delivery> {
  const subscription = await lab.subscribe(await lab.transport());
  const [delivery] = await subscription.receive(1, 10_000);
  assert.ok(delivery !== undefined, "nothing came");
  return delivery;
}

vector(
  "V801 a publish is a durable text message with every slot and text properties",
  async (lab) => {
    const transport = await lab.transport();
    await transport.publish(lab.queue, [{ body: bytes(B0) }]);
    const [message = {}] = await lab.peer.receive(lab.queue);
    assert.equal(message.body, B0);
    assert.equal(message.durable, true);
    assert.deepEqual({ ...message.message_annotations }, { "x-opt-jms-type": U });
    assert.equal(message.correlation_id, TR);
    assert.deepEqual(message.creation_time, new Date(1_760_000_000_123));
    assert.deepEqual({ ...message.application_properties }, {
      bq_schema_version: "1",
      bq_source_lang: "go",
      bq_attempts: "0",
      bq_app_id: "babelqueue",
    });
    assert.equal(message["subject"], U);
    for (const slot of ["content_type", "message_id"]) {
      assert.equal(message[slot], undefined, slot);
    }
  },
);

test("V801 on the wire: a string value, a timestamp, a symbol as the annotation's name", () => {
  const wire = toMessage({ body: bytes(B0) }, NOW_MS);
  assert.ok(wire instanceof Uint8Array);
  const hex = Buffer.from(wire).toString("hex");
  const utf8 = (value: string): string => Buffer.from(value).toString("hex");
  assert.ok(hex.includes(`005377a1f4${utf8(B0)}`), "the body");
  assert.ok(hex.includes("8300000199c82cc07b"), "the creation time");
  assert.ok(hex.includes(`a30e${utf8("x-opt-jms-type")}a113${utf8(U)}`), "the annotation");
});

vector("V803 the larger of both counts is the number of earlier deliveries", async (lab) => {
  for (const [body, count, reconciled] of [[0, 0, 0], [0, 2, 2], [2, 1, 2], [3, 3, 3], [4, 0, 4]]) {
    await lab.peer.send(lab.queue, { body: b0({ attempts: `"attempts":${body}` }) });
    for (let times = 0; times < count!; times++) await lab.peer.receive(lab.queue, 1, "fail");
    const transport = await lab.transport();
    const subscription = await lab.subscribe(transport);
    const [delivery] = await subscription.receive(1, 10_000);
    assert.equal(reconcile(body!, delivery!.counting), reconciled, `${body} and ${count}`);
    await subscription.settle(delivery!, { kind: "ack" });
    await transport.close();
  }
});

vector("V804 a failure below the cap is one counted return of the same bytes", async (lab) => {
  const { bq } = lab.app({ deadLetter: true, maxAttempts: 3 });
  bq.handle(U, () => {
    throw new Error("boom");
  });
  await lab.peer.send(lab.queue, { body: B0 });
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  await bq.close();
  const [message = {}] = await lab.peer.receive(lab.queue);
  assert.deepEqual([message.body, message.delivery_count], [B0, 1]);
});

for (const deadLetter of [true, false]) {
  const title = deadLetter ? "is a record" : "is dropped without dead-lettering";
  vector(`V805 a message at its cap ${title}`, async (lab) => {
    const { bq, seen } = lab.app({ deadLetter, maxAttempts: 3, clock: clockOf(NOW_MS) });
    bq.handle(U, () => {
      throw null;
    });
    await lab.peer.send(lab.queue, { body: B0 });
    for (let times = 0; times < 2; times++) await lab.peer.receive(lab.queue, 1, "fail");
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    const { ready } = await (await lab.transport()).size(lab.queue);
    assert.equal(ready, 0);
    if (!deadLetter) return assert.equal(seen.of("dropped").length, 1);
    const [record = {}] = await lab.peer.receive(lab.dead);
    const { attempts, dead_letter } = JSON.parse(nativeText(record));
    assert.deepEqual([attempts, dead_letter.attempts, dead_letter.reason], [3, 3, "failed"]);
    assert.equal(dead_letter.original_queue, "shop");
    assert.equal(record.application_properties?.["bq_attempts"], "3");
  });
}

vector("V805 the record of B2 is the body with the block, byte for byte", async (lab) => {
  const transport = await lab.transport();
  await transport.publish(lab.queue, [{ body: bytes(B2) }]);
  const subscription = await lab.subscribe(transport);
  const [delivery] = await subscription.receive(1, 10_000);
  const record = B2.replace(/2\}$/, `3,${deadLetterText("failed", 3, "shop")}}`);
  await subscription.settle(delivery!, {
    kind: "deadLetter",
    record: bytes(record),
    queue: lab.dead,
    reason: "failed",
  });
  const [message = {}] = await lab.peer.receive(lab.dead);
  assert.equal(message.body, record);
  assert.deepEqual({ ...message.message_annotations }, { "x-opt-jms-type": U });
});

vector("V807 a text, bytes as a value, and data sections are the same envelope", async (lab) => {
  const whole = Buffer.from(B0);
  const halves = [whole.subarray(0, 100), whole.subarray(100)];
  const bodies = [
    B0,
    whole,
    rhea.message.data_section(whole),
    rhea.message.data_sections(halves as never),
  ];
  for (const body of bodies) await lab.peer.send(lab.queue, { body });
  const subscription = await lab.subscribe(await lab.transport());
  for (const _ of bodies) {
    const [delivery] = await subscription.receive(1, 10_000);
    assert.equal(text(delivery!.body), B0);
    assert.ok(!delivery!.undecodable);
    await subscription.settle(delivery!, { kind: "ack" });
  }
});

vector("V808 a message without the type annotation is routed by its body", async (lab) => {
  const { bq } = lab.app();
  const came: unknown[] = [];
  bq.handle(U, ({ id }) => {
    came.push(id);
  });
  await lab.peer.send(lab.queue, { body: B0 });
  await lab.peer.send(lab.queue, {
    body: B0,
    message_annotations: { "x-opt-jms-type": "urn:babel:other" },
  });
  await bq.consume({ maxMessages: 2, waitMs: 10_000 });
  assert.deepEqual(came, [7, 7]);
});

test("V809 the scheme is that of Artemis, and stands for AMQP with and without TLS", () => {
  const of = (url: string): unknown => {
    const { host, port, tls } = resolveOptions({ url }).target;
    return { host, port, tls: tls !== undefined };
  };
  assert.deepEqual(of("artemis://h:5672"), { host: "h", port: 5672, tls: false });
  assert.deepEqual(of("artemis://h"), { host: "h", port: 5672, tls: false });
  assert.deepEqual(of("artemis://h:80"), { host: "h", port: 80, tls: false });
  assert.deepEqual(of("artemis+ssl://h"), { host: "h", port: 5671, tls: true });
  assert.deepEqual(of("artemis+ssl://[::1]:61617"), { host: "::1", port: 61617, tls: true });
  for (const url of ["amqp://h:5672", "amqps://h", "http://h", "artemis://h:5672/orders"]) {
    assert.throws(() => resolveOptions({ url }), { code: "invalid_option" }, url);
  }
});

vector(
  "V004 the slot of another type passes as the integer 1 and as null, else it is gated",
  async (lab) => {
    const { types } = rhea;
    const passing = [null, 1, types.wrap_byte(1), types.wrap_ulong(1), types.wrap_long(1), ""];
    const gated = [2, -1, true, 1.5, Buffer.from("1"), new Date(1), types.wrap_symbol("2")];
    const subscription = await lab.subscribe(await lab.transport());
    for (const [values, verdict] of [[passing, "pass"], [gated, "gated"]] as const) {
      for (const value of values) {
        const properties = { bq_schema_version: value };
        await lab.peer.send(lab.queue, { body: B0, application_properties: properties });
        const [delivery] = await subscription.receive(1, 10_000);
        assert.equal(versionGate(delivery!.schemaVersion), verdict, String(value));
        await subscription.settle(delivery!, { kind: "ack" });
      }
    }
  },
);

vector("V005 a slot of 1 over a body in another version is poison, not gated", async (lab) => {
  const body = b0({ meta: META.replace('"schema_version":1', '"schema_version":2') });
  await lab.peer.send(lab.queue, { body, application_properties: { bq_schema_version: "1" } });
  const { bq, seen } = lab.app({ deadLetter: true });
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  assert.deepEqual([seen.of("gated").length, seen.of("poison").length], [0, 1]);
  const [record = {}] = await lab.peer.receive(lab.dead);
  assert.equal(JSON.parse(nativeText(record)).dead_letter.reason, "poison");
});

vector(
  "V006 a gated record is the body with all that came beside it, and is gated again",
  async (lab) => {
    const properties = { bq_schema_version: "2", bq_attempts: "7", tenant: "7", answer: 42 };
    await lab.peer.send(lab.queue, {
      body: "not json",
      correlation_id: "c-1",
      group_id: "g-1",
      message_annotations: { "x-opt-jms-type": U },
      application_properties: { ...properties, bq_replay_bypass: "1" },
    });
    const { bq } = lab.app({ deadLetter: true });
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    await bq.close();
    const [record = {}] = await lab.peer.receive(lab.dead);
    assert.equal(record.body, "not json");
    assert.deepEqual([record.correlation_id, record["group_id"]], ["c-1", "g-1"]);
    assert.deepEqual({ ...record.message_annotations }, { "x-opt-jms-type": U });
    assert.deepEqual({ ...record.application_properties }, properties);
  },
);

vector(
  "V038 strategy dead_letter writes the raw bytes though dead-lettering is off",
  async (lab) => {
    const properties = { bq_schema_version: "2" };
    await lab.peer.send(lab.queue, { body: "not json", application_properties: properties });
    const { bq } = lab.app({ onUnknownUrn: "dead_letter" });
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    assert.equal(nativeText((await lab.peer.receive(lab.dead))[0]!), "not json");
  },
);

vector("V038 when that write fails the message is released, uncounted", async (lab) => {
  const properties = { bq_schema_version: "2" };
  await lab.peer.send(lab.queue, { body: "not json", application_properties: properties });
  await lab.forbidDead();
  const { bq, seen } = lab.app({ onUnknownUrn: "dead_letter" });
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  await bq.close();
  assert.equal(seen.of("writeFailed").length, 1);
  const [message = {}] = await lab.peer.receive(lab.queue);
  assert.deepEqual([message.body, message.delivery_count ?? 0], ["not json", 0]);
});

vector(
  "V001 riders go along as properties, the replay marker under a name that JMS allows",
  async (lab) => {
    const { bq } = lab.app();
    const headers = { traceparent: TP, "bq-replay-bypass": "1", bq_attempts: "99", "": "x", a: "" };
    await bq.publish(U, {}, { headers });
    const [message = {}] = await lab.peer.receive(lab.queue, 1, "release");
    const { bq_schema_version: _, bq_source_lang: __, ...rest } = {
      ...message.application_properties,
    };
    assert.deepEqual(rest, {
      bq_attempts: "0",
      bq_app_id: "babelqueue",
      traceparent: TP,
      bq_replay_bypass: "1",
    });
    const delivery = await receiveOne(lab);
    assert.deepEqual({ ...delivery.headers }, { traceparent: TP, "bq-replay-bypass": "1" });
  },
);

/** Records as anybody may have written them: what a worker makes of bad ones, and what stays of good ones. */

import assert from "node:assert/strict";
import { BabelQueueError, systemClock } from "@bq/core";
import { kafka, type KafkajsLike, retryTopic } from "@bq/kafka";
import { deliveryOf } from "../../transports/kafka/_delivery.ts";
import { publishRecord } from "../../transports/kafka/project.ts";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { onBench } from "./bench.ts";
import { fresh, headersOf, text } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);

const record = (headers: readonly (readonly [string, Uint8Array | null])[]) => ({
  topic: "shop",
  partition: 0,
  offset: 0n,
  key: null,
  value: bytes(B0),
  headers,
  timestampMs: 0,
});

test("a delivery has foreign headers alone, the first of each, without those that say nothing", () => {
  const { headers, counting } = deliveryOf(
    "shop",
    record([
      ["bq-attempts", bytes("many")],
      ["x", bytes("1")],
      ["x", bytes("2")],
      ["", bytes("nameless")],
      ["empty", bytes("")],
      ["empty", bytes("later")],
      ["none", null],
      ["none", bytes("later")],
      ["__proto__", bytes("polluted")],
      ["bq-delay", bytes("5")],
    ]),
  );
  assert.deepEqual(Object.entries(headers), [["x", "1"], ["__proto__", "polluted"]]);
  assert.equal(Object.getPrototypeOf(headers), null);
  assert.deepEqual(counting, {});
});

test("a version header without a value is no version", () => {
  assert.equal(deliveryOf("shop", record([["bq-schema-version", null]])).schemaVersion, undefined);
  const first = record([["bq-schema-version", bytes("2")], ["bq-schema-version", bytes("1")]]);
  assert.equal(deliveryOf("shop", first).schemaVersion, "2");
});

test("a message's own headers never take the place of a slot", () => {
  const headers = { "bq-job": "evil", "bq-delay": "1", traceparent: "t" };
  const place = { topic: "shop", tiersMs: [], nowMs: 1 };
  const written = new Map(headersOf(publishRecord({ body: bytes(B0), headers }, undefined, place)));
  assert.deepEqual([written.get("bq-job"), written.get("bq-delay")], [U, undefined]);
  assert.equal(written.get("traceparent"), "t");
});

test("a body that cannot be read has no slots at all", () => {
  const place = { topic: "shop", tiersMs: [], nowMs: 7 };
  const { headers, timestampMs } = publishRecord({ body: bytes("no") }, undefined, place);
  assert.deepEqual([headers, timestampMs], [[], 7]);
});

test("V718 an offset beyond 2^53 is committed exactly", async () => {
  const commits: string[] = [];
  const kafkajs = fakeKafkajs(commits);
  const transport = kafka({ client: kafkajs });
  await transport.open({
    clock: systemClock,
    random: () => 0,
    bytes: (length) => new Uint8Array(length),
    emit: () => {},
  });
  const intake = new AbortController();
  const subscription = await transport.subscribe("shop", {
    prefetch: 1,
    intake: intake.signal,
    lost: () => {},
  });
  const [delivery] = await subscription.receive(1, 1_000);
  assert.equal(await subscription.settle(delivery!, { kind: "ack" }), "settled");
  assert.deepEqual(commits, ["9007199254740994"]);
  await transport.close();
});

test(
  "a record without a value, and one that nobody can read, do not keep good ones",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue(1);
      await bench.lab.write(queue, [
        { value: null, key: "tombstone" },
        { value: Uint8Array.of(0xff, 0xfe), key: "bytes" },
        { value: B0, headers: { "bq-attempts": "many", constructor: "mine", toString: "too" } },
      ]);
      const { bq, seen } = bench.app(queue, { deadLetter: true });
      const headers: unknown[] = [];
      bq.handle(U, (_, ctx) => {
        headers.push({ ...ctx.headers }, ctx.attempt);
      });
      const stop = bench.work(bq);
      await seen.waitFor("handled");
      await stop();
      assert.deepEqual(headers, [{ constructor: "mine", toString: "too" }, 1]);
      const records = await bench.lab.read(`${queue}.dlq`);
      const raw = new Map(records.map(({ key, value }) => [text(key), JSON.parse(text(value))]));
      assert.equal(raw.get("tombstone").raw, "");
      assert.deepEqual([raw.get("bytes").raw, raw.get("bytes").raw_encoding], ["//4=", "base64"]);
    }),
  { ignore },
);

test("a gated record without a value stays one", () =>
  onBench(broker(), {}, async (bench) => {
    const queue = await bench.queue(1);
    await bench.lab.write(queue, [{ value: null, headers: { "bq-schema-version": "9" } }]);
    const { bq } = bench.app(queue, { deadLetter: true });
    await bq.consume({ maxMessages: 1, waitMs: 20_000 });
    const [written] = await bench.lab.read(`${queue}.dlq`);
    assert.equal(written!.value, null);
  }), { ignore });

test(
  "five hops through the tiers leave our headers once, and foreign ones as they came",
  () =>
    onBench(broker(), { retryTiersMs: [50], reinject: true }, async (bench) => {
      const queue = await bench.queue(1);
      await bench.lab.write(queue, [{
        value: B0,
        key: "k",
        headers: { "x-one": "1", "x-two": ["a", "b", "a"], traceparent: "t", "bq-attempts": "0" },
      }]);
      const { bq, seen } = bench.app(queue, { deadLetter: true, maxAttempts: 6 });
      bq.handle(U, () => {
        throw new Error("fails");
      });
      const stop = bench.work(bq);
      await seen.waitFor("deadLettered");
      await stop();
      const hops = (await bench.lab.read(queue)).slice(1);
      assert.equal(hops.length, 5);
      for (const [index, hop] of hops.entries()) {
        const headers = headersOf(hop);
        const ours = headers.filter(([name]) => name.startsWith("bq-")).map(([name]) => name);
        assert.equal(new Set(ours).size, ours.length, "each of ours once");
        assert.equal(new Map(headers).get("bq-attempts"), `${index + 1}`);
        assert.deepEqual(headers.filter(([name]) => !name.startsWith("bq-")), [
          ["x-one", "1"],
          ["x-two", "a"],
          ["x-two", "b"],
          ["x-two", "a"],
          ["traceparent", "t"],
        ]);
        assert.equal(text(hop.key), "k");
      }
    }),
  { ignore },
);

test(
  "a record that waits and does not say for what goes to the topic that its tier is named for",
  () =>
    onBench(broker(), { retryTiersMs: [50], reinject: true }, async (bench) => {
      const queue = await bench.queue(1);
      const transport = await bench.open();
      const subscription = await bench.subscribe(queue, { transport });
      await bench.lab.write(retryTopic(queue, 1), [{ value: "anything", key: "k" }]);
      const delivery = await bench.one(subscription);
      assert.equal(text(delivery.body), "anything");
    }),
  { ignore },
);

test(
  "a topic that does not exist is told, and is worked on once it is there",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = fresh();
      const { bq, seen } = bench.app(queue, { deadLetter: true });
      bq.handle(U, () => {});
      await assert.rejects(bq.publishRaw(queue, bytes(B0), { timeoutMs: 25_000 }), BabelQueueError);
      const stop = bench.work(bq);
      const { error } = await seen.waitFor("receiveFailed");
      assert.match(error.message, new RegExp(`'${queue}'.* does not exist`));
      await bench.lab.topics([queue]);
      await eventually(() => bq.publishRaw(queue, bytes(B0)));
      await seen.waitFor("handled");
      await stop();
    }),
  { ignore },
);

/** As much of kafkajs as one record takes; its offset is the last one that a number can hold. */
function fakeKafkajs(commits: string[]): KafkajsLike {
  const joined: ((event: { payload: unknown }) => void)[] = [];
  const none = (): Promise<void> => Promise.resolve();
  const consumer = {
    connect: none,
    disconnect: none,
    subscribe: none,
    seek: () => {},
    pause: () => {},
    resume: () => {},
    on(event: string, listener: (event: { payload: unknown }) => void) {
      if (event === "consumer.group_join") joined.push(listener);
      return () => {};
    },
    async run({ eachBatch }: { eachBatch(payload: unknown): Promise<void> }) {
      const payload = { memberId: "m", memberAssignment: { shop: [0] } };
      for (const listener of joined) listener({ payload });
      const offset = "9007199254740993";
      await eachBatch({
        batch: {
          topic: "shop",
          partition: 0,
          messages: [{ offset, key: null, value: bytes(B0), timestamp: "0", headers: {} }],
          lastOffset: () => offset,
        },
        resolveOffset: () => {},
        commitOffsetsIfNecessary({ topics }: { topics: { partitions: { offset: string }[] }[] }) {
          for (const { partitions } of topics) commits.push(partitions[0]!.offset);
          return Promise.resolve();
        },
      });
    },
  };
  const admin = {
    connect: none,
    disconnect: none,
    fetchTopicMetadata: () => Promise.resolve({ topics: [{ name: "shop", partitions: [0] }] }),
  };
  const producer = { connect: none, disconnect: none, send: none };
  return {
    producer: () => producer,
    consumer: () => consumer,
    admin: () => admin,
  } as unknown as KafkajsLike;
}

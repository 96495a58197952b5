/** The re-injector: alone, beside a worker, with others, and in trouble. */

import assert from "node:assert/strict";
import { BabelQueueError } from "@bq/core";
import type { TransportEvent } from "@bq/core/transport";
import { type KafkaClient, RetryReinjector, retryTopic } from "@bq/kafka";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { B0, TP, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { type Bench, onBench } from "./bench.ts";
import { FAST, headersOf, text } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());
const TIERS = [400, 1_500];

/** Runs a re-injector in the bench's group until the work is done. */
async function reinjecting(
  bench: Bench,
  queues: readonly string[],
  work: (events: TransportEvent[]) => Promise<void>,
  tiersMs: readonly number[] = TIERS,
): Promise<void> {
  const events: TransportEvent[] = [];
  const stopping = new AbortController();
  const reinjector = new RetryReinjector({
    url: broker().url,
    queues,
    retryTiersMs: tiersMs,
    reinjectGroupId: bench.reinjectGroupId,
    onEvent: (event) => void events.push(event),
    ...FAST,
  });
  const running = reinjector.run({ signal: stopping.signal });
  running.catch(() => {});
  try {
    await work(events);
  } finally {
    stopping.abort();
    await running;
  }
}

function waitingHeaders(queue: string): Record<string, string> {
  return { "bq-delay": "400", "bq-original-topic": queue };
}

test(
  "a record waits on its tier, then is on the work topic byte for byte",
  () =>
    onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
      const queue = await bench.queue();
      const value = Uint8Array.of(0x7b, 0xff, 0x00);
      const headers = {
        ...waitingHeaders(queue),
        traceparent: TP,
        "bq-attempts": "1",
        "x-a": ["1", "2"],
      };
      const startMs = performance.now();
      await bench.lab.write(retryTopic(queue, 1), [{ value, key: "", headers, timestamp: 1 }]);
      await reinjecting(bench, [queue], async () => {
        await eventually(async () => (await bench.lab.read(queue)).length === 1);
      });
      assert.ok(
        performance.now() - startMs >= 400,
        "the broker's own time counts, not the writer's",
      );
      const [written] = await bench.lab.read(queue);
      assert.deepEqual(new Uint8Array(written!.value!), value);
      assert.equal(text(written!.key), "");
      assert.deepEqual(headersOf(written!), [
        ["traceparent", TP],
        ["bq-attempts", "1"],
        ["x-a", "1"],
        ["x-a", "2"],
      ]);
      assert.equal(await bench.lab.committed(bench.reinjectGroupId, retryTopic(queue, 1)), 1n);
    }),
  { ignore },
);

test(
  "the time of whoever wrote counts on a topic that keeps it, within one tier from now",
  () =>
    onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
      const queue = await bench.queue(1);
      const topic = retryTopic(queue, 1);
      const settings = { "message.timestamp.type": "CreateTime", "retention.ms": "-1" };
      await bench.lab.configure([topic], settings);
      const future = Date.now() + 600_000;
      const headers = waitingHeaders(queue);
      await bench.lab.write(topic, [{ value: "old", headers, timestamp: 1 }]);
      await bench.lab.write(topic, [{ value: "future", headers, timestamp: future }]);
      await reinjecting(bench, [queue], async () => {
        await eventually(async () => (await bench.lab.read(queue)).length === 2);
      });
      const values = (await bench.lab.read(queue)).map(({ value }) => text(value));
      assert.deepEqual(values, ["old", "future"]);
    }),
  { ignore },
);

test(
  "nothing overtakes on a tier, and a long run goes at once when its time is over",
  () =>
    onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
      const queue = await bench.queue(1);
      const records = Array.from({ length: 500 }, (_, n) => ({
        value: `${n}`,
        key: "k",
        headers: waitingHeaders(queue),
      }));
      await bench.lab.write(retryTopic(queue, 1), records);
      await reinjecting(bench, [queue], async () => {
        await eventually(async () =>
          await bench.lab.committed(bench.reinjectGroupId, retryTopic(queue, 1)) === 500n
        );
      });
      const values = (await bench.lab.read(queue)).map(({ value }) => text(value));
      assert.deepEqual(values, records.map(({ value }) => value));
    }),
  { ignore },
);

test(
  "V710 a record that cannot be written stays, holds up what is behind it, and goes when it can",
  () =>
    onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
      const queue = await bench.queue(1);
      const topic = retryTopic(queue, 1);
      await bench.lab.configure([queue], { "max.message.bytes": "1" });
      const headers = waitingHeaders(queue);
      await bench.lab.write(topic, ["a", "b"].map((value) => ({ value, key: "k", headers })));
      await reinjecting(bench, [queue], async (events) => {
        await eventually(() => events.some(({ type }) => type === "warning"));
        const [warning] = events.filter((event) => event.type === "warning");
        assert.match(warning!.message, /offset 0 of partition 0 of '.*' stays and is tried again/);
        assert.equal(await bench.lab.committed(bench.reinjectGroupId, topic), 0n);
        await bench.lab.configure([queue], { "max.message.bytes": "1048588" });
        await eventually(async () =>
          await bench.lab.committed(bench.reinjectGroupId, topic) === 2n
        );
      });
      const values = (await bench.lab.read(queue)).map(({ value }) => text(value));
      assert.deepEqual(values, ["a", "b"]);
    }),
  { ignore },
);

test(
  "what stands before a record that cannot be written goes once, what is behind it waits",
  () =>
    onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
      const queue = await bench.queue(1);
      const topic = retryTopic(queue, 1);
      await bench.lab.configure([queue], { "max.message.bytes": "2000" });
      const headers = waitingHeaders(queue);
      const values = ["a", "B".repeat(5_000), "c"];
      await bench.lab.write(topic, values.map((value) => ({ value, key: "k", headers })));
      const letters = async (): Promise<string> =>
        (await bench.lab.read(queue)).map(({ value }) => text(value)[0]).join("");
      await reinjecting(bench, [queue], async (events) => {
        // It is tried again, and more than once.
        await eventually(() => events.filter(({ type }) => type === "warning").length >= 4);
        assert.equal(await letters(), "a");
        assert.equal(await bench.lab.committed(bench.reinjectGroupId, topic), 1n);
        await bench.lab.configure([queue], { "max.message.bytes": "1048588" });
        await eventually(async () =>
          await bench.lab.committed(bench.reinjectGroupId, topic) === 3n
        );
      });
      assert.equal(await letters(), "aBc");
    }),
  { ignore },
);

test(
  "an onEvent that throws does not end the work",
  () =>
    onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
      const queue = await bench.queue(1);
      await bench.lab.configure([queue], { "max.message.bytes": "1" });
      const headers = waitingHeaders(queue);
      await bench.lab.write(retryTopic(queue, 1), [{ value: "a", key: "k", headers }]);
      const stopping = new AbortController();
      let told = 0;
      const reinjector = new RetryReinjector({
        url: broker().url,
        queues: [queue],
        retryTiersMs: TIERS,
        reinjectGroupId: bench.reinjectGroupId,
        onEvent() {
          told++;
          throw new Error("the logger is broken");
        },
        ...FAST,
      });
      const running = reinjector.run({ signal: stopping.signal });
      await eventually(() => told > 0);
      await bench.lab.configure([queue], { "max.message.bytes": "1048588" });
      await eventually(async () => (await bench.lab.read(queue)).length === 1);
      stopping.abort();
      await running;
    }),
  { ignore },
);

test(
  "two re-injectors in one group share the work, and nothing is forwarded twice",
  () =>
    onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
      const queue = await bench.queue();
      await reinjecting(bench, [queue], () =>
        reinjecting(bench, [queue], async () => {
          const records = Array.from({ length: 60 }, (_, n) => ({
            value: `${n}`,
            key: `${n}`,
            headers: waitingHeaders(queue),
          }));
          await bench.lab.write(retryTopic(queue, 1), records);
          await eventually(async () =>
            await bench.lab.committed(bench.reinjectGroupId, retryTopic(queue, 1)) === 60n
          );
        }));
      const values = (await bench.lab.read(queue)).map(({ value }) => Number(text(value)));
      assert.deepEqual(values.sort((a, b) => a - b), Array.from({ length: 60 }, (_, n) => n));
    }),
  { ignore },
);

test("V711 a wait that is longer than the session keeps its place in the group", () =>
  onBench(
    broker(),
    { retryTiersMs: [4_000], sessionTimeoutMs: 1_200, heartbeatIntervalMs: 200, reinject: true },
    async (bench) => {
      const queue = await bench.queue();
      const { bq, seen } = bench.app(queue, { deadLetter: true });
      bq.handle(U, () => {});
      const stop = bench.work(bq);
      await seen.waitFor("started");
      await bq.publish(U, {}, { delayMs: 3_000 });
      await seen.waitFor("handled");
      await stop();
      assert.deepEqual(seen.of("warning"), []);
      assert.equal((await bench.lab.read(queue)).length, 1);
    },
  ), { ignore });

test(
  "a re-injector beside the worker ends with it",
  () =>
    onBench(broker(), { retryTiersMs: TIERS, reinject: true }, async (bench) => {
      const queue = await bench.queue();
      const { bq, seen } = bench.app(queue, { deadLetter: true, maxAttempts: 2 });
      let failed = 0;
      bq.handle(U, () => {
        if (failed++ === 0) throw new Error("fails once");
      });
      const stop = bench.work(bq);
      await bq.publishRaw(queue, new TextEncoder().encode(B0));
      await seen.waitFor("handled");
      await stop();
      await bq.close();
      const headers = waitingHeaders(queue);
      await bench.lab.write(retryTopic(queue, 1), [{ value: "stays", headers }]);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      assert.equal((await bench.lab.read(queue)).length, 2);
    }),
  { ignore },
);

test("a re-injector without tiers or queues is refused", () => {
  const retryTiersMs = [1];
  assert.throws(() => new RetryReinjector({ queues: [], retryTiersMs }), BabelQueueError);
  assert.throws(() => new RetryReinjector({ queues: ["a"] }), /'retryTiersMs'/);
  assert.throws(() => new RetryReinjector({ queues: ["a b"], retryTiersMs }), /'a b'/);
  const client = {} as KafkaClient;
  assert.throws(() => new RetryReinjector({ queues: ["a"], retryTiersMs, client }), /'client'/);
});

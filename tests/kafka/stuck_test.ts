/** Writes that a settle needs and that fail: the worker goes on when they can be done. */

import assert from "node:assert/strict";
import { systemClock } from "@bq/core";
import { outcomeOf } from "../../transports/kafka/_outcome.ts";
import { B0, U } from "../contract/_vectors.ts";
import { type ConsumerSetup, kafka, type KafkaClient, RetryReinjector } from "@bq/kafka";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { onBench } from "./bench.ts";
import { contextOf, fresh } from "./lab.ts";

/** What of kafkajs' administration is used. */
const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());

test(
  "a dead-letter topic that is made later gets every message that waits for it",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = fresh();
      await bench.lab.topic(queue, 6);
      const records = Array.from({ length: 6 }, (_, partition) => ({ value: B0, partition }));
      await bench.lab.write(queue, records);
      const { bq, seen } = bench.app(queue, { maxAttempts: 1, deadLetter: true });
      bq.handle(U, () => {
        throw new Error("fails");
      });
      const stop = bench.work(bq, 6);
      // Every message has met it once.
      await seen.waitFor(() => seen.of("writeFailed").length >= 6, {
        timeoutMs: 90_000,
      });
      assert.equal(seen.of("deadLettered").length, 0);
      assert.equal(seen.of("settleFailed").length, 0, "the worker heard of each before it gave up");
      await bench.lab.topic(`${queue}.dlq`, 1);
      await seen.waitFor(() => seen.of("deadLettered").length >= 6, {
        timeoutMs: 90_000,
      });
      await stop();
      assert.equal(await bench.lab.committed(bench.groupId, queue), 6n);
    }),
  { ignore, timeoutMs: 240_000 },
);

test(
  "a dead-letter queue that no topic can be named after holds its partition up and is told",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue(1);
      await bench.lab.write(queue, [{ value: B0 }, { value: B0 }]);
      const { bq, seen } = bench.app(queue, { maxAttempts: 1, deadLetterQueue: "dead letters" });
      bq.handle(U, () => {
        throw new Error("fails");
      });
      const stop = bench.work(bq);
      await seen.waitFor(() => seen.of("writeFailed").length >= 2);
      assert.match(seen.of("writeFailed")[0]!.error.message, /dead letters/);
      await stop();
      assert.equal(await bench.lab.committed(bench.groupId, queue), 0n);
    }),
  { ignore },
);

test(
  "a topic that is made anew is read from its beginning, and what is in it is not committed over",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue(1);
      const numbers: number[] = [];
      const { bq, seen } = bench.app(queue);
      bq.handle(U, ({ id }) => void numbers.push(Number(id)));
      const write = (from: number, count: number): Promise<void> =>
        bench.lab.write(
          queue,
          Array.from({ length: count }, (_, n) => ({
            value: B0.replace('"id":7', `"id":${from + n}`),
          })),
        );
      await write(0, 10);
      const stop = bench.work(bq);
      await seen.waitFor(() => seen.of("handled").length === 10);
      await bench.lab.remove(queue);
      await bench.lab.topics([queue], { partitions: 1 });
      // Fewer than before, so that the old place is not in it.
      await write(100, 5);
      await eventually(() => new Set(numbers).size === 15);
      await write(105, 10);
      await eventually(() => new Set(numbers).size === 25);
      assert.ok(seen.of("warning").some(({ message }) => /begins anew at offset 0/.test(message)));
      await stop();
      assert.equal(await bench.lab.committed(bench.groupId, queue), 15n);
    }),
  { ignore, timeoutMs: 120_000 },
);

test(
  "what could not be sent before close() is not sent behind it",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = fresh();
      const { bq } = bench.app(queue, { shutdownTimeoutMs: 1_000 });
      const publishes = Array.from(
        { length: 3 },
        (_, n) => bq.publish(U, { n }, { timeoutMs: 1_500 }),
      );
      const results = await Promise.allSettled(publishes);
      assert.deepEqual(results.map(({ status }) => status), Array(3).fill("rejected"));
      await bq.close();
      await bench.lab.topics([queue], { partitions: 1 });
      // Longer than the client tries: its five waits are 17 s together at most.
      await new Promise((resolve) => setTimeout(resolve, 20_000));
      assert.deepEqual(await bench.lab.read(queue), []);
    }),
  { ignore },
);

test("a re-injector whose broker is away ends when it is told to", async () => {
  const url = "kafka://127.0.0.1:1";
  const stopping = new AbortController();
  let warned = 0;
  const running = new RetryReinjector({
    url,
    queues: ["shop"],
    retryTiersMs: [1_000],
    connection: { retry: { retries: 1 } },
    onEvent: () => void warned++,
  }).run({ signal: stopping.signal });
  await eventually(() => warned > 0);
  stopping.abort();
  await running;
  // An attempt to connect that was under way has a second; the client's timer for it outlives its end.
  await systemClock.sleep(2_500);
});

test("a worker that is to stop does not wait for a join that does not end", async () => {
  const members: ConsumerSetup[] = [];
  const client: KafkaClient = {
    connect: () => Promise.resolve(),
    send: () => Promise.resolve(),
    consumer(setup) {
      const first = members.push(setup) === 1;
      const start = (): Promise<void> => {
        if (!first) return new Promise(() => {});
        setup.events.assigned("member", []);
        return Promise.resolve();
      };
      return { start, commit: () => Promise.resolve(), stop: () => Promise.resolve() };
    },
    partitions: (topics) => Promise.resolve(new Map(topics.map((topic) => [topic, 1]))),
    ranges: () => Promise.resolve([]),
    committed: () => Promise.resolve(new Map()),
    configs: () => Promise.resolve(new Map()),
    createTopics: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const transport = kafka({ client });
  await transport.open(contextOf());
  const stopping = new AbortController();
  const options = { prefetch: 1, intake: stopping.signal, lost: () => {} };
  const subscription = await transport.subscribe("shop", options);
  members[0]!.events.failed(new Error("it has ended"));
  const received = subscription.receive(1, 60_000);
  await eventually(() => members.length === 2);
  stopping.abort();
  assert.deepEqual(await received, []);
  await transport.close();
});

test("a publish that fails names the topic that it was for, where that is another one", () => {
  const refused = Object.assign(new Error("no such topic"), { type: "UNKNOWN_TOPIC_OR_PARTITION" });
  const outcome = outcomeOf("orders", "orders.retry.1", refused);
  assert.equal(outcome.status, "failed");
  assert.match(outcome.error.message, /'orders', topic 'orders.retry.1': no such topic/);
});

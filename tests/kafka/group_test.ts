/** Members of a group that come, go, and take partitions over. */

import assert from "node:assert/strict";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { type Bench, onBench } from "./bench.ts";
import { FAST, text } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Numbered messages of some keys. */
function numbered(count: number, keys: number): { value: string; key: string }[] {
  return Array.from({ length: count }, (_, n) => ({
    value: B0.replace('"id":7', `"id":${n}`),
    key: `key-${n % keys}`,
  }));
}

/** A worker that notes what it handled. */
function noting(bench: Bench, queue: string, came: number[], handlerMs = 0) {
  const app = bench.app(queue, { deadLetter: true, maxAttempts: 100 });
  app.bq.handle(U, async ({ id }, ctx) => {
    if (handlerMs > 0) await pause(handlerMs);
    ctx.signal.throwIfAborted();
    came.push(Number(id));
  });
  return app;
}

/** Fails where a key's messages came in another order; one that came again starts its key anew from there. */
function assertKeyOrder(came: readonly number[], keys: number): void {
  const last = new Map<number, number>();
  for (const n of came) {
    const key = n % keys;
    const before = last.get(key);
    // Taken again from the last commit: never beyond what was handled.
    assert.ok(before === undefined || n <= before + keys, `${n} came after ${before}`);
    last.set(key, n);
  }
}

test(
  "two queues in one process, in one group, are both worked on",
  () =>
    onBench(broker(), {}, async (bench) => {
      const [one, two] = [await bench.queue(), await bench.queue()];
      const { bq, seen } = bench.app(one, { deadLetter: true });
      bq.handle(U, () => {});
      await bench.lab.write(one, numbered(6, 6));
      await bench.lab.write(two, numbered(6, 6));
      const stopping = new AbortController();
      const ended = bq.run({ queues: [one, two], signal: stopping.signal });
      await seen.waitFor(() => seen.of("handled").length === 12);
      stopping.abort();
      await ended;
      const queues = seen.of("handled").map(({ queue }) => queue).sort();
      assert.deepEqual(queues, [...Array(6).fill(one), ...Array(6).fill(two)].sort());
    }),
  { ignore },
);

test(
  "members with different queues share a group, whoever leads it",
  () =>
    onBench(broker(), {}, async (bench) => {
      const [one, two] = [await bench.queue(), await bench.queue()];
      const came: number[][] = [[], []];
      const first = noting(bench, one, came[0]!);
      const stopFirst = bench.work(first.bq);
      const second = noting(bench, two, came[1]!);
      const stopSecond = bench.work(second.bq);
      await bench.lab.write(one, numbered(6, 6));
      await bench.lab.write(two, numbered(6, 6));
      await eventually(() => came.every((ids) => ids.length === 6));
      // The one that led is gone: the other assigns.
      await stopFirst();
      await bench.lab.write(two, numbered(6, 6));
      await eventually(() => came[1]!.length === 12);
      await stopSecond();
    }),
  { ignore },
);

test("a handler may take three times as long as the broker waits for a sign of life", () =>
  onBench(
    broker(),
    { sessionTimeoutMs: 1_500, heartbeatIntervalMs: 300 },
    async (bench) => {
      const queue = await bench.queue();
      const came: number[] = [];
      const { bq, seen } = noting(bench, queue, came, 4_500);
      const stop = bench.work(bq);
      await bench.lab.write(queue, numbered(2, 1));
      await eventually(() => came.length === 2);
      await stop();
      assert.deepEqual(came, [0, 1]);
      assert.deepEqual(seen.of("leaseLost"), []);
      assert.equal(await bench.lab.committed(bench.groupId, queue), 2n);
    },
  ), { ignore });

test(
  "a rebalance throws away nothing that waits behind a record in hand, and keeps its order",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue();
      const lost: string[] = [];
      const first = await bench.subscribe(queue, {
        lost: (_, cause) => void lost.push(cause.message),
      });
      await bench.lab.write(queue, numbered(60, 6));
      const held = [];
      while (held.length < 3) held.push(...await first.receive(3, 5_000));
      // All partitions are paused now, with records behind the ones in hand.
      await pause(3 * FAST.maxWaitMs);
      const second = await bench.subscribe(queue);
      await eventually(() => lost.length > 0);
      const kept = held.length - lost.length;
      assert.ok(kept > 0 && lost.length > 0, `${kept} kept, ${lost.length} lost`);

      const came: number[] = [];
      const settled: string[] = [];
      for (const delivery of held) {
        settled.push(await first.settle(delivery, { kind: "ack" }));
        if (settled.at(-1) === "settled") came.push(JSON.parse(text(delivery.body)).data.id);
      }
      assert.deepEqual(settled.filter((answer) => answer === "expired").length, lost.length);
      await eventually(async () => {
        for (const subscription of [first, second]) {
          for (const delivery of await subscription.receive(3, 50)) {
            came.push(JSON.parse(text(delivery.body)).data.id);
            await subscription.settle(delivery, { kind: "ack" });
          }
        }
        return came.length >= 60;
      });
      assert.deepEqual([...came].sort((a, b) => a - b), Array.from({ length: 60 }, (_, n) => n));
      assertKeyOrder(came, 6);
      assert.equal(await bench.lab.committed(bench.groupId, queue), 60n);
    }),
  { ignore },
);

test(
  "workers that join and leave under load lose nothing and keep the order of a key",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue();
      const count = 600;
      const keys = 12;
      const came: number[] = [];
      const first = bench.work(noting(bench, queue, came, 5).bq);
      await bench.lab.write(queue, numbered(count, keys));
      await eventually(() => came.length >= 60);
      for (let turn = 0; turn < 3; turn++) {
        const before = came.length;
        const stop = bench.work(noting(bench, queue, came, 5).bq);
        await eventually(() => came.length >= before + 60);
        await stop();
      }
      await eventually(() => new Set(came).size === count);
      await first();
      assert.equal(new Set(came).size, count);
      // Three partitions are in hand at most, at each of six rebalances.
      assert.ok(came.length <= count + 18, `${came.length - count} came twice`);
      assertKeyOrder(came, keys);
    }),
  { ignore, timeoutMs: 120_000 },
);

test(
  "a member that was frozen beyond its session loses what it held, and commits nothing of it",
  () =>
    onBench(broker(), { sessionTimeoutMs: 1_200, heartbeatIntervalMs: 300 }, async (bench) => {
      const queue = await bench.queue(1);
      await bench.lab.write(queue, numbered(2, 1));
      const lost: string[] = [];
      const first = await bench.subscribe(queue, {
        lost: (_, { message }) => void lost.push(message),
      });
      const late = await bench.one(first);
      // Nothing of this process runs meanwhile, as if it had been stopped by a signal.
      const endMs = Date.now() + 4_000;
      while (Date.now() < endMs);
      // Both are members by then, and either may be given the partition.
      const again = await bench.oneOf([first, await bench.subscribe(queue)]);
      assert.equal(text(again.body), text(late.body));
      assert.equal(await first.settle(late, { kind: "ack" }), "expired");
      assert.equal(await bench.lab.committed(bench.groupId, queue), 0n);
    }),
  { ignore, timeoutMs: 180_000 },
);

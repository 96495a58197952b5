/**
 * Our worker and the published Python SDK's on one Kafka: in one group, on the same retry tiers, each
 * with the other's re-injector.
 */

import assert from "node:assert/strict";
import { RetryReinjector, retryTopic } from "@bq/kafka";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { type Bench, onBench } from "../kafka/bench.ts";
import { FAST, headersOf, text } from "../kafka/lab.ts";
import { DATA, type Handled, TRACE, URN } from "./_messages.ts";
import type { Peer } from "./peer.ts";
import { absentPython, startPythonOn } from "./python.ts";

const ignore = await absentKafka() || await absentPython("kafka");
const broker = brokerOfFile(ignore, () => startKafka());
const TIERS = [400, 1_200];

/** One test's view: our bench, and a peer in the same groups. */
function exchange(title: string, run: (bench: Bench, peer: Peer) => Promise<void>): void {
  test(
    `Python, Kafka: ${title}`,
    () =>
      onBench(broker(), { retryTiersMs: TIERS }, async (bench) => {
        const about = `${bench.groupId}:${TIERS.join(",")}`;
        const peer = await startPythonOn("kafka", broker().url, about);
        try {
          await run(bench, peer);
        } finally {
          await peer.close();
        }
      }),
    { ignore, timeoutMs: 120_000 },
  );
}

/** Runs our re-injector while something is done. */
async function withOurReinjector(
  bench: Bench,
  queue: string,
  work: () => Promise<void>,
): Promise<void> {
  const stopping = new AbortController();
  const reinjector = new RetryReinjector({
    url: broker().url,
    queues: [queue],
    retryTiersMs: TIERS,
    reinjectGroupId: bench.reinjectGroupId,
    ...FAST,
  });
  const running = reinjector.run({ signal: stopping.signal });
  running.catch(() => {});
  try {
    await work();
  } finally {
    stopping.abort();
    await running;
  }
}

/** We take one delivery, and fail it when asked to. */
async function weTake(bench: Bench, queue: string, fail = false): Promise<Handled | undefined> {
  const { bq } = bench.app(queue, { deadLetter: true, maxAttempts: 3 });
  let handled: Handled | undefined;
  bq.handle(URN, (data, { messageId, attempt, traceId }) => {
    if (fail) throw new Error("asked to fail");
    handled = { id: messageId, data, attempt, traceId };
  });
  await eventually(async () => {
    const { handled: done, failed } = await bq.consume({ maxMessages: 1, waitMs: 5_000 });
    return done + failed > 0;
  }, { timeoutMs: 60_000 });
  await bq.close();
  return handled;
}

const ours = (bench: Bench, queue: string): Promise<string> => {
  const { bq } = bench.app(queue);
  return bq.publish(URN, DATA, { traceId: TRACE, key: "k" });
};

exchange("the peer handles what we publish, and we what it publishes", async (bench, peer) => {
  const [one, two] = [await bench.queue(), await bench.queue()];
  const id = await ours(bench, one);
  const { handled: [seen] } = await peer.work({ queue: one, urns: [URN], count: 1, idle: 20 });
  const { headers: _, ...message } = seen!;
  assert.deepEqual(message, { id, urn: URN, data: DATA, attempts: 0, traceId: TRACE });

  const theirs = await peer.publish({ queue: two, job: URN, data: DATA, traceId: TRACE });
  const handled = await weTake(bench, two);
  assert.deepEqual(handled, { id: theirs, data: DATA, attempt: 1, traceId: TRACE });
});

exchange(
  "what we fail waits on the tier for its re-injector, and it handles it",
  async (bench, peer) => {
    const queue = await bench.queue();
    const id = await ours(bench, queue);
    assert.equal(await weTake(bench, queue, true), undefined);
    assert.equal(await peer.reinject(queue, bench.reinjectGroupId, 1), 1);
    const [, again] = await bench.lab.read(queue);
    assert.equal(text(again!.key), "k", "the key");
    const { handled } = await peer.work({ queue, urns: [URN], count: 1, idle: 20 });
    assert.deepEqual(handled.map(({ id, attempts }) => [id, attempts]), [[id, 1]]);
  },
);

exchange(
  "what the peer fails waits on the tier for our re-injector, and we handle it",
  async (bench, peer) => {
    const queue = await bench.queue();
    const id = await peer.publish({ queue, job: URN, data: DATA, traceId: TRACE });
    const { failed } = await peer.work({ queue, urns: [URN], count: 1, fail: 1, idle: 20 });
    assert.equal(failed, 1);
    await withOurReinjector(bench, queue, async () => {
      await eventually(async () =>
        await bench.lab.committed(bench.reinjectGroupId, retryTopic(queue, 1)) === 1n
      );
    });
    const handled = await weTake(bench, queue);
    assert.deepEqual([handled?.id, handled?.attempt], [id, 2]);
  },
);

exchange("both count on, until one dead-letters with the count of both", async (bench, peer) => {
  const queue = await bench.queue();
  const id = await ours(bench, queue);
  await withOurReinjector(bench, queue, async () => {
    await weTake(bench, queue, true);
    const { failed } = await peer.work({ queue, urns: [URN], count: 1, fail: 1, idle: 30 });
    assert.equal(failed, 1);
    await weTake(bench, queue, true);
  });
  const [record] = await bench.lab.read(`${queue}.dlq`);
  const { meta, attempts, dead_letter } = JSON.parse(text(record!.value));
  assert.deepEqual([meta.id, attempts, dead_letter.attempts], [id, 3, 3]);
  assert.equal(new Map(headersOf(record!)).get("bq-attempts"), "3");
});

exchange(
  "a delay that either asks for is served by the other's re-injector",
  async (bench, peer) => {
    const [one, two] = [await bench.queue(), await bench.queue()];
    const { bq } = bench.app(one);
    const id = await bq.publish(URN, DATA, { delayMs: 300 });
    assert.equal(await peer.reinject(one, bench.reinjectGroupId, 1), 1);
    const { handled } = await peer.work({ queue: one, urns: [URN], count: 1, idle: 20 });
    assert.deepEqual(handled.map((message) => message.id), [id]);

    const theirs = await peer.publish({ queue: two, job: URN, data: DATA, delay: 1 });
    await withOurReinjector(bench, two, async () => {
      assert.equal((await weTake(bench, two))?.id, theirs);
    });
  },
);

exchange(
  "its worker and ours share the partitions of a topic in one group",
  async (bench, peer) => {
    const queue = await bench.queue();
    const { bq, seen } = bench.app(queue, { deadLetter: true });
    const mine: string[] = [];
    bq.handle(URN, (_, { messageId }) => {
      mine.push(messageId);
    });
    const stop = bench.work(bq);
    await seen.waitFor("started");
    const publisher = bench.app(queue);
    const ids: string[] = [];
    // It works until a while without a message; we publish until both have had some.
    const working = peer.work({ queue, urns: [URN], idle: 8 });
    for (let n = 0; n < 60; n++) {
      ids.push(await publisher.bq.publish(URN, { n }, { key: `key-${n}` }));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { handled } = await working;
    const theirs = handled.map(({ id }) => id!);
    await eventually(() => new Set([...mine, ...theirs]).size === ids.length);
    await stop();
    assert.ok(mine.length > 0 && theirs.length > 0, `${mine.length} and ${theirs.length}`);
    assert.deepEqual([...new Set([...mine, ...theirs])].sort(), [...ids].sort());
  },
);

exchange(
  "its re-injector and ours share a group, and neither forwards what the other did",
  async (bench, peer) => {
    const queue = await bench.queue();
    await withOurReinjector(bench, queue, async () => {
      // It works until it has had that many, or half a minute is over.
      const working = peer.reinject(queue, bench.reinjectGroupId, 20);
      const { bq } = bench.app(queue);
      const ids: string[] = [];
      let ended = false;
      void working.finally(() => ended = true);
      while (!ended) {
        const key = `${ids.length}`;
        ids.push(await bq.publish(URN, { n: ids.length }, { delayMs: 1, key }));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      assert.ok(await working >= 20, "the peer took its share");
      await eventually(async () => (await bench.lab.read(queue)).length >= ids.length);
      const records = await bench.lab.read(queue);
      const found = records.map(({ value }) => JSON.parse(text(value)).meta.id);
      assert.deepEqual([...new Set(found)].sort(), ids.sort());
      // What was on its way when the group changed may have been forwarded by both.
      assert.ok(found.length <= ids.length + 6, `${found.length - ids.length} twice`);
      assert.ok(ids.length > 20, "ours took some, too");
    });
  },
);

/** Publish, handle, fail, release, dead-letter, delay: each side with the other's messages. */

import assert from "node:assert/strict";
import { DATA, TRACE, URN } from "./_messages.ts";
import type { Exchange, InteropTest } from "./suite.ts";

const OTHER = "urn:babel:shop:unknown";
/** A delay of this many whole seconds is over no sooner than this. */
const DELAY_S = 2;
const SHORTEST_DELAY_MS = 1_000;

/** Our message, published by us. */
async function publishOurs({ ours, queue }: Exchange, options: object = {}): Promise<string> {
  return await ours.withApp((bq) => bq.publish(URN, DATA, { traceId: TRACE, ...options }), {
    queue,
  });
}

function publishPeers({ peer, queue }: Exchange, options: object = {}): Promise<string> {
  return peer.publish({ queue, job: URN, data: DATA, traceId: TRACE, ...options });
}

/** The peer handles one delivery, which has to be this message, failed this often before. */
async function peerHandles(
  { peer, traits, queue }: Exchange,
  id: string,
  earlier: number,
): Promise<void> {
  const { handled } = await peer.work({ queue, urns: [URN], count: 1 });
  assert.equal(handled.length, 1);
  const [{ headers: _, ...message } = {}] = handled;
  const attempts = earlier + traits.firstAttempt;
  assert.deepEqual(message, { id, urn: URN, data: DATA, attempts, traceId: TRACE });
}

/** We handle one delivery, which has to be this message, failed this often before. */
async function weHandle({ ours, queue }: Exchange, id: string, earlier: number): Promise<void> {
  const { handled } = await ours.work(queue);
  assert.equal(handled.length, 1);
  const { at: _, headers: __, ...message } = handled[0] ?? assert.fail();
  assert.deepEqual(message, { id, data: DATA, attempt: earlier + 1, traceId: TRACE });
}

async function weFail({ ours, queue }: Exchange): Promise<void> {
  assert.equal((await ours.work(queue, { fail: 1 })).failed, 1);
}

async function peerFails({ peer, queue }: Exchange): Promise<void> {
  const { failed } = await peer.work({ queue, urns: [URN], count: 1, fail: 1, tries: 3 });
  assert.equal(failed, 1);
}

/** What is read of a dead-letter record. */
interface DeadRecord {
  readonly meta: { readonly id: string };
  readonly data: unknown;
  readonly dead_letter: { readonly reason: string; readonly attempts: number };
}

/** The records of our dead-letter queue. */
async function records({ ours, queue }: Exchange): Promise<DeadRecord[]> {
  const { ready } = await ours.state(`${queue}.dlq`);
  return ready.map((record) => JSON.parse(record));
}

export const exchangeTests: readonly InteropTest[] = [
  {
    title: "we handle what the peer publishes",
    async run(exchange) {
      const id = await publishPeers(exchange);
      await weHandle(exchange, id, 0);
      await exchange.ours.assertEmpty(exchange.queue);
    },
  },
  {
    title: "the peer handles what we publish",
    async run(exchange) {
      const id = await publishOurs(exchange);
      await peerHandles(exchange, id, 0);
      await exchange.ours.assertEmpty(exchange.queue);
    },
  },
  {
    title: "what we fail is counted, and the peer handles it",
    async run(exchange) {
      const id = await publishPeers(exchange);
      await weFail(exchange);
      await peerHandles(exchange, id, 1);
      await exchange.ours.assertEmpty(exchange.queue);
    },
  },
  {
    title: "what the peer fails is counted, and we handle it",
    async run(exchange) {
      const id = await publishOurs(exchange);
      await peerFails(exchange);
      await weHandle(exchange, id, 1);
      await exchange.ours.assertEmpty(exchange.queue);
    },
  },
  {
    title: "both sides count on: we fail, the peer fails, we handle the third delivery",
    async run(exchange) {
      const id = await publishOurs(exchange);
      await weFail(exchange);
      await peerFails(exchange);
      await weHandle(exchange, id, 2);
      await exchange.ours.assertEmpty(exchange.queue);
    },
  },
  {
    title: "we dead-letter what the peer failed before, with the count of both",
    async run(exchange) {
      const id = await publishPeers(exchange);
      await peerFails(exchange);
      await peerFails(exchange);
      await weFail(exchange);
      await exchange.ours.assertEmpty(exchange.queue);
      const [record, ...more] = await records(exchange);
      assert.deepEqual(more, []);
      assert.equal(record?.meta.id, id);
      assert.deepEqual(record?.data, DATA);
      assert.equal(record?.dead_letter.reason, "failed");
      assert.equal(record?.dead_letter.attempts, 3);
    },
  },
  {
    title: "the peer handles the record that we dead-lettered",
    when: ({ deadLetters }) => deadLetters,
    async run(exchange) {
      const { ours, peer, queue } = exchange;
      const id = await publishOurs(exchange);
      await ours.work(queue, { fail: 1, maxAttempts: 1 });
      const { handled } = await peer.work({ queue: `${queue}.dlq`, urns: [URN], count: 1 });
      assert.deepEqual(handled.map((one) => [one.id, one.data]), [[id, DATA]]);
    },
  },
  {
    title: "we handle the record that the peer dead-lettered",
    when: ({ deadLetters }) => deadLetters,
    async run(exchange) {
      const { ours, peer, queue } = exchange;
      const id = await publishOurs(exchange);
      await peer.work({ queue, urns: [URN], count: 1, fail: 1, tries: 1 });
      await ours.assertEmpty(queue);
      const { handled } = await ours.work(`${queue}.dlq`);
      assert.deepEqual(handled.map((one) => [one.id, one.data]), [[id, DATA]]);
    },
  },
  {
    title: "the peer drops what we failed before at its own last attempt",
    when: ({ deadLetters }) => !deadLetters,
    async run(exchange) {
      const { ours, peer, queue } = exchange;
      await publishOurs(exchange);
      await weFail(exchange);
      await weFail(exchange);
      await peer.work({ queue, urns: [URN], count: 1, fail: 1, tries: 3 });
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "what we release for want of a handler reaches the peer unchanged and uncounted",
    async run(exchange) {
      const { ours, peer, traits, queue } = exchange;
      const id = await peer.publish({ queue, job: OTHER, data: DATA, traceId: TRACE });
      await ours.withApp(async (bq) => {
        bq.handle(URN, () => {});
        await bq.consume({ maxMessages: 1 });
      }, { queue, onUnknownUrn: "release" });
      const { handled } = await peer.work({ queue, urns: [OTHER], count: 1 });
      assert.deepEqual(handled.map((one) => [one.id, one.data, one.attempts]), [
        [id, DATA, traits.firstAttempt],
      ]);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "what the peer delays is handled by us when its time has come",
    layouts: ["zset"],
    async run(exchange) {
      const { ours, queue } = exchange;
      const published = Date.now();
      const id = await publishPeers(exchange, { delay: DELAY_S });
      assert.equal((await ours.state(queue)).delayed.length, 1);
      const { handled: [one] } = await ours.work(queue);
      assert.equal(one?.id, id);
      assert.ok(one.at - published >= SHORTEST_DELAY_MS, `after ${one.at - published} ms`);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "what we delay is handled by the peer when its time has come",
    layouts: ["zset"],
    async run(exchange) {
      const { ours, queue } = exchange;
      const published = Date.now();
      const id = await publishOurs(exchange, { delayMs: DELAY_S * 1_000 });
      assert.equal((await ours.state(queue)).delayed.length, 1);
      await peerHandles(exchange, id, 0);
      assert.ok(Date.now() - published >= SHORTEST_DELAY_MS, `after ${Date.now() - published} ms`);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "headers travel both ways, and over a failure on each side",
    layouts: ["legacy"],
    async run(exchange) {
      const { ours, peer, queue } = exchange;
      const headers = { "x-tenant": "7", "x-text": "caf\u00e9 </a>&" };
      await publishPeers(exchange, { headers });
      await weFail(exchange);
      const [theirs] = (await peer.work({ queue, urns: [URN], count: 1 })).handled;
      assert.deepEqual(theirs?.headers, headers);
      await publishOurs(exchange, { headers });
      await peerFails(exchange);
      const { handled: [one] } = await ours.work(queue);
      assert.deepEqual({ ...one?.headers }, headers);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "headers are left out without an error where the layout has no place for them",
    layouts: ["zset"],
    async run(exchange) {
      const id = await publishOurs(exchange, { headers: { "x-tenant": "7" } });
      await peerHandles(exchange, id, 0);
    },
  },
  {
    title: "a body that nobody can read becomes one poison record, and the worker goes on",
    async run(exchange) {
      const { ours, peer, queue } = exchange;
      await peer.publishRaw(queue, new TextEncoder().encode(`{"job":"${URN}"`));
      const id = await publishPeers(exchange);
      await weHandle(exchange, id, 0);
      await ours.assertEmpty(queue);
      const dead = await ours.state(`${queue}.dlq`);
      assert.equal(dead.ready.length, 1);
      assert.match(dead.ready[0] ?? "", /"reason":"poison"/);
    },
  },
];

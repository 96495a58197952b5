/** A settle that comes after the other side took the message over: a duplicate at most, never a loss. */

import assert from "node:assert/strict";
import type { Exchange, InteropTest } from "./suite.ts";
import type { Held } from "./_world.ts";
import { DATA, URN } from "./_messages.ts";

const RETRY_AFTER = 2;

/** We reserve; the reservation ends; the peer takes the message and holds it. */
async function peerHolds(
  { ours, peer, queue }: Exchange,
): Promise<{ held: Held; ack(): Promise<void> }> {
  await peer.publish({ queue, job: URN, data: DATA });
  const held = await ours.hold(queue, RETRY_AFTER);
  // The peer's own reservation is long, but it recovers what has expired.
  const taken = await untilTaken(() => peer.pop(queue, 600));
  return { held, ack: () => peer.ack(taken) };
}

/** A reservation of a second may need two to end, and a peer may give up before. */
async function untilTaken<R extends { reservation: number | null }>(
  pop: () => Promise<R>,
): Promise<R> {
  for (let tries = 0; tries < 6; tries++) {
    const taken = await pop();
    if (taken.reservation !== null) return taken;
  }
  return assert.fail("the peer took nothing over");
}

export const lateSettleTests: readonly InteropTest[] = [
  {
    title: "our late ack touches nothing of the peer's reservation",
    async run(exchange) {
      const { ours, queue } = exchange;
      const { held, ack } = await peerHolds(exchange);
      assert.equal(await held.settle({ kind: "ack" }), "expired");
      assert.equal((await ours.state(queue)).inFlight.length, 1);
      await held.close();
      await ack();
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "our late retry is not written",
    async run(exchange) {
      const { ours, queue } = exchange;
      const { held, ack } = await peerHolds(exchange);
      const text = Buffer.from(held.delivery.body).toString();
      const body = new TextEncoder().encode(text.replace('"attempts":0', '"attempts":1'));
      const retry = { kind: "retry", body, attempts: 1, delayMs: 0 } as const;
      assert.equal(await held.settle(retry), "expired");
      const { ready, delayed, inFlight } = await ours.state(queue);
      assert.deepEqual([ready, delayed, inFlight.length], [[], [], 1]);
      await held.close();
      await ack();
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "our late dead-letter record is not written",
    async run(exchange) {
      const { ours, queue } = exchange;
      const { held, ack } = await peerHolds(exchange);
      const verdict = {
        kind: "deadLetter",
        record: held.delivery.body,
        queue: `${queue}.dlq`,
        reason: "failed",
      } as const;
      assert.equal(await held.settle(verdict), "expired");
      await ours.assertEmpty(`${queue}.dlq`);
      assert.equal((await ours.state(queue)).inFlight.length, 1);
      await held.close();
      await ack();
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "our ack after the peer has finished says that it is expired",
    async run(exchange) {
      const { ours, queue } = exchange;
      const { held, ack } = await peerHolds(exchange);
      await ack();
      assert.equal(await held.settle({ kind: "ack" }), "expired");
      await held.close();
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "the peer's late ack touches nothing of our reservation",
    async run({ ours, peer, queue }) {
      await peer.publish({ queue, job: URN, data: DATA });
      const taken = await peer.pop(queue, RETRY_AFTER);
      const held = await ours.hold(queue, 600);
      await peer.ack(taken);
      assert.equal((await ours.state(queue)).inFlight.length, 1);
      assert.equal(await held.settle({ kind: "ack" }), "settled");
      await held.close();
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "the peer's late release of what we have finished is a duplicate and no loss",
    when: ({ ungatedRelease }) => ungatedRelease,
    async run({ ours, peer, queue }) {
      const id = await peer.publish({ queue, job: URN, data: DATA });
      const taken = await peer.pop(queue, RETRY_AFTER);
      assert.deepEqual((await ours.work(queue)).handled.map((one) => one.id), [id]);
      await peer.release(taken);
      assert.deepEqual((await ours.work(queue)).handled.map((one) => one.id), [id]);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "the peer's late release of what we have finished is not written",
    when: ({ ungatedRelease }) => !ungatedRelease,
    async run({ ours, peer, queue }) {
      const id = await peer.publish({ queue, job: URN, data: DATA });
      const taken = await peer.pop(queue, RETRY_AFTER);
      assert.deepEqual((await ours.work(queue)).handled.map((one) => one.id), [id]);
      await peer.release(taken);
      await ours.assertEmpty(queue);
    },
  },
];

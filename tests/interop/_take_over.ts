/** Each side takes over what the other reserved and never settled. */

import assert from "node:assert/strict";
import type { InteropTest } from "./suite.ts";
import { DATA, URN } from "./_messages.ts";

/** Reservations end after this many seconds. */
const RETRY_AFTER = 2;

/** Bytes that Lua's and PHP's JSON would change: an integer beyond 2^53, an empty list, a fraction. */
const EXACT = `{"big":9007199254740993,"none":[],"one":1.0,"path":"a/b","n":1}`;

function exactBody(id: string): string {
  return `{"job":"${URN}","trace_id":"t-1","data":${EXACT},"meta":{"id":"${id}","queue":"q",` +
    `"lang":"go","schema_version":1,"created_at":1749132727000},"attempts":0}`;
}

export const takeOverTests: readonly InteropTest[] = [
  {
    title: "the peer takes over our expired reservation and acknowledges it",
    async run({ ours, peer, traits, queue }) {
      const id = await peer.publish({ queue, job: URN, data: DATA });
      const held = await ours.hold(queue, RETRY_AFTER);
      assert.equal((await ours.state(queue)).inFlight.length, 1);
      const { handled } = await peer.work({
        queue,
        urns: [URN],
        count: 1,
        retryAfter: RETRY_AFTER,
      });
      // Only the zset layout counts a delivery when it is reserved.
      const attempts = traits.firstAttempt + (ours.layout === "zset" ? 1 : 0);
      assert.deepEqual(handled.map((one) => [one.id, one.data, one.attempts]), [
        [id, DATA, attempts],
      ]);
      await ours.assertEmpty(queue);
      await held.close();
    },
  },
  {
    title: "we take over the peer's expired reservation and acknowledge it",
    async run({ ours, peer, queue }) {
      const id = await peer.publish({ queue, job: URN, data: DATA });
      assert.notEqual((await peer.pop(queue, RETRY_AFTER)).reservation, null);
      assert.equal((await ours.state(queue)).inFlight.length, 1);
      const { handled } = await ours.work(queue);
      const attempt = ours.layout === "zset" ? 2 : 1;
      assert.deepEqual(handled.map((one) => [one.id, one.data, one.attempt]), [[
        id,
        DATA,
        attempt,
      ]]);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "the peer can acknowledge our reservation, and ours is expired then",
    async run({ ours, peer, queue }) {
      await peer.publish({ queue, job: URN, data: DATA });
      const held = await ours.hold(queue, 600);
      const [stored = "", ...more] = (await ours.state(queue)).inFlight;
      assert.deepEqual(more, []);
      await peer.ackStored(queue, held.delivery.body, stored);
      await ours.assertEmpty(queue);
      assert.equal(await held.settle({ kind: "ack" }), "expired");
      await held.close();
    },
  },
  {
    title: "our scripts acknowledge the peer's reservation, and gate the second time",
    async run({ ours, peer, queue }) {
      await peer.publish({ queue, job: URN, data: DATA });
      const taken = await peer.pop(queue, 600);
      const member = Buffer.from(taken.reserved ?? "", "base64");
      assert.deepEqual((await ours.state(queue)).inFlight, [member.toString()]);
      assert.equal(await ours.settleStored(queue, member), "1");
      await ours.assertEmpty(queue);
      assert.equal(await ours.settleStored(queue, member), "0");
      // To the peer its reservation is over, which is no error.
      await peer.ack(taken);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "we leave the peer's running reservation alone",
    async run({ ours, peer, queue }) {
      await peer.publish({ queue, job: URN, data: DATA });
      const reservation = await peer.pop(queue, 600);
      const second = await peer.publish({ queue, job: URN, data: DATA });
      const { handled } = await ours.work(queue);
      assert.deepEqual(handled.map(({ id }) => id), [second]);
      assert.equal((await ours.state(queue)).inFlight.length, 1);
      await peer.ack(reservation);
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "the peer leaves our running reservation alone",
    async run({ ours, peer, queue }) {
      await peer.publish({ queue, job: URN, data: DATA });
      const held = await ours.hold(queue, 600);
      const second = await peer.publish({ queue, job: URN, data: DATA });
      const { handled } = await peer.work({
        queue,
        urns: [URN],
        count: 1,
        retryAfter: RETRY_AFTER,
      });
      assert.deepEqual(handled.map(({ id }) => id), [second]);
      assert.equal(await held.settle({ kind: "ack" }), "settled");
      await held.close();
      await ours.assertEmpty(queue);
    },
  },
  {
    title: "a reservation that the peer recovers from us has every byte of the data",
    async run({ ours, peer, queue }) {
      await peer.publishRaw(queue, new TextEncoder().encode(exactBody("exact")));
      const held = await ours.hold(queue, RETRY_AFTER);
      const { body } = await peer.pop(queue, RETRY_AFTER);
      assert.ok(Buffer.from(body, "base64").toString().includes(`"data":${EXACT}`));
      await held.close();
    },
  },
  {
    title: "what we fail comes back with every byte of the data",
    async run({ ours, peer, queue }) {
      const body = exactBody("exact");
      await peer.publishRaw(queue, new TextEncoder().encode(body));
      await ours.work(queue, { fail: 1 });
      const raw = (await peer.pop(queue)).body;
      assert.equal(
        Buffer.from(raw, "base64").toString(),
        body.replace('"attempts":0', '"attempts":1'),
      );
    },
  },
];

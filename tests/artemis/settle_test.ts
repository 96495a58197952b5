/** How deliveries are settled: many outcomes in one turn, one that stays long, and lost ones. */

import assert from "node:assert/strict";
import type { Delivery, Verdict } from "@bq/core";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { B0, b0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { bytes, inLab, type Lab, nativeText } from "./lab.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

function live(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () => inLab(broker().url, work), { ignore });
}

/** The canonical body whose `data` holds that number. */
const numbered = (n: number): string => b0({ data: `"data":{"n":${n}}` });
const numberOf = (body: string): number => JSON.parse(body).data.n;

live("neighbours that are settled in one turn each get their own outcome", async (lab) => {
  const transport = await lab.transport();
  const count = 24;
  const messages = Array.from({ length: count }, (_, n) => ({ body: bytes(numbered(n)) }));
  await transport.publish(lab.queue, messages);
  const subscription = await lab.subscribe(transport);
  const taken: Delivery[] = [];
  while (taken.length < count) taken.push(...await subscription.receive(count, 10_000));
  const verdicts: Verdict[] = [
    { kind: "ack" },
    { kind: "retry", body: bytes(B0), attempts: 1, delayMs: 0 },
    { kind: "return" },
    { kind: "ack" },
    { kind: "ack" },
    { kind: "return" },
    { kind: "retry", body: bytes(B0), attempts: 1, delayMs: 0 },
  ];
  const verdictOf = (n: number): Verdict => verdicts[n % verdicts.length]!;
  await Promise.all(taken.map((delivery, n) => subscription.settle(delivery, verdictOf(n))));
  await subscription.close();
  const numbers = [...Array(count).keys()];
  const back = numbers.filter((n) => verdictOf(n).kind !== "ack");
  const found = await lab.peer.receive(lab.queue, back.length);
  const counts = found.map((one) => [numberOf(nativeText(one)), one.delivery_count ?? 0]);
  const wanted = back.map((n) => [n, verdictOf(n).kind === "retry" ? 1 : 0]);
  assert.deepEqual(counts.sort(([a], [b]) => a! - b!), wanted);
  assert.equal((await transport.size(lab.queue)).ready, 0);
});

live(
  "one message that stays with its handler holds up none of the thousands behind it",
  async (lab) => {
    const transport = await lab.transport();
    const count = 9_000;
    const subscription = await lab.subscribe(transport);
    await transport.publish(lab.queue, [{ body: bytes(numbered(0)) }]);
    const [slow] = await subscription.receive(1, 10_000);
    for (let n = 0; n < count; n += 1_000) {
      const messages = Array.from({ length: 1_000 }, () => ({ body: bytes(B0) }));
      await transport.publish(lab.queue, messages);
      for (let came = 0; came < messages.length;) {
        const some = await subscription.receive(200, 10_000);
        assert.ok(some.length > 0, `nothing came after ${n + came}`);
        await Promise.all(some.map((one) => subscription.settle(one, { kind: "ack" })));
        came += some.length;
      }
    }
    assert.equal(await subscription.settle(slow!, { kind: "ack" }), "settled");
    await eventually(async () => {
      assert.deepEqual(await transport.size(lab.queue), { ready: 0, delayed: 0, inFlight: 0 });
    });
  },
);

live("what is in hand when its link closes comes again, uncounted", async (lab) => {
  const transport = await lab.transport();
  const bodies = [1, 2].map(numbered);
  await transport.publish(lab.queue, bodies.map((body) => ({ body: bytes(body) })));
  const subscription = await lab.subscribe(transport);
  const taken: Delivery[] = [];
  while (taken.length < bodies.length) taken.push(...await subscription.receive(2, 10_000));
  // The broker is told nothing of the one; the other is released at the end.
  assert.equal(await subscription.settle(taken[0]!, { kind: "leave" }), "settled");
  await subscription.close();
  const back = await lab.peer.receive(lab.queue, bodies.length);
  assert.deepEqual(back.map(nativeText).sort(), bodies);
  assert.deepEqual(back.map((message) => message.delivery_count ?? 0), [0, 0]);
});

// The broker counts some of what it takes back by itself, so that nothing is said of counts here.
for (const what of ["session", "connection"] as const) {
  live(
    `what was in hand when the broker ended the ${what} is lost, and comes again`,
    async (lab) => {
      const events: string[] = [];
      const transport = await lab.transport({}, { emit: ({ type }) => events.push(type) });
      await transport.publish(lab.queue, [{ body: bytes(B0) }]);
      const lost: [Delivery, Error][] = [];
      const subscription = await lab.subscribe(transport, (...one) => lost.push(one));
      const [delivery] = await subscription.receive(1, 10_000);
      const waiting = subscription.receive(1, 600_000).then(() => "came", (error) => error.message);
      await lab.cutConsumer(what);
      await eventually(() => lost.length === 1);
      assert.equal(lost[0]![0], delivery);
      assert.match(await waiting, /Cannot receive from/);
      assert.equal(await subscription.settle(delivery!, { kind: "ack" }), "expired");
      const [again] = await eventually(() => subscription.receive(1, 10_000));
      assert.equal(await subscription.settle(again!, { kind: "ack" }), "settled");
      const wanted = what === "session" ? [] : ["disconnected", "connected"];
      assert.deepEqual(events, ["connected", ...wanted]);
    },
  );
}

live("credit that was not used is taken back at the end of intake", async (lab) => {
  const transport = await lab.transport();
  const intake = new AbortController();
  const subscription = await transport.subscribe(lab.queue, {
    prefetch: 10,
    intake: intake.signal,
    lost: () => {},
  });
  const waiting = subscription.receive(10, 600_000);
  intake.abort();
  assert.deepEqual(await waiting, []);
  // The subscription is open still; what comes now is for somebody else.
  await lab.peer.send(lab.queue, { body: B0 });
  await eventually(async () => {
    assert.deepEqual(await transport.size(lab.queue), { ready: 1, delayed: 0, inFlight: 0 });
  });
  await subscription.close();
});

live("a message that the worker gives to the broker's own place is in the DLA", async (lab) => {
  const transport = await lab.transport();
  const before = (await transport.size("DLA")).ready;
  await transport.publish(lab.queue, [{ body: bytes(B0) }]);
  const subscription = await lab.subscribe(transport);
  const [delivery] = await subscription.receive(1, 10_000);
  const verdict = { kind: "deadLetterNatively", reason: "why" } as const;
  assert.equal(await subscription.settle(delivery!, verdict), "settled");
  await eventually(async () => (await transport.size("DLA")).ready === before + 1);
});

live("the queue is asked for as many messages as handlers are free, and no more", async (lab) => {
  const { bq } = lab.app();
  const release = Promise.withResolvers<void>();
  let begun = 0;
  bq.handle(U, async () => {
    begun++;
    await release.promise;
  });
  const transport = await lab.transport();
  await transport.publish(lab.queue, Array.from({ length: 20 }, () => ({ body: bytes(B0) })));
  const run = bq.run({ concurrency: 7 });
  await eventually(() => begun === 7);
  assert.deepEqual(await transport.size(lab.queue), { ready: 13, delayed: 0, inFlight: 7 });
  release.resolve();
  await eventually(() => begun === 20);
  await bq.close();
  await run;
});

live("a slot that is free gets its message though all other handlers stay", async (lab) => {
  const transport = await lab.transport();
  const { bq } = lab.app({ pollTimeoutMs: 600_000 });
  const release = Promise.withResolvers<void>();
  let begun = 0;
  bq.handle(U, async () => {
    begun++;
    await release.promise;
  });
  const run = bq.run({ concurrency: 9 });
  for (const count of [1, 3, 1, 2, 1, 1]) {
    const before = begun;
    await transport.publish(lab.queue, Array.from({ length: count }, () => ({ body: bytes(B0) })));
    await eventually(() => begun === before + count);
  }
  assert.equal(begun, 9);
  release.resolve();
  await bq.close();
  await run;
});

live("a receive that waits for little gets it when others have used up the credit", async (lab) => {
  const transport = await lab.transport();
  await transport.publish(lab.queue, Array.from({ length: 10 }, () => ({ body: bytes(B0) })));
  const subscription = await lab.subscribe(transport);
  const [many, few] = [subscription.receive(8, 30_000), subscription.receive(2, 30_000)];
  assert.ok((await many).length > 0);
  assert.ok((await few).length > 0);
  await subscription.close();
});

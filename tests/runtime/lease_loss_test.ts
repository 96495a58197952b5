import assert from "node:assert/strict";
import { BabelQueueError } from "@bq/core";
import { test } from "../harness.ts";
import { B0, bytes, ended, gate, URN, withApp } from "./_app.ts";
import { type LeaseBench, onLease } from "./_lease.ts";
import { never } from "./_scripted.ts";

/** Asserts that a message was lost, once, and that nothing was or will be settled. */
async function lostFor(bench: LeaseBench, cause?: Error): Promise<void> {
  const { bq, transport, clock, seen, signals, finish } = bench;
  assert.deepEqual(seen.of("leaseLost").map(({ error }) => error), [cause]);
  const reason: unknown = signals[0]?.reason;
  assert.ok(reason instanceof BabelQueueError);
  assert.deepEqual([reason.code, reason.cause], ["lease_lost", cause]);
  assert.match(reason.message, /^Lost the lease of message '6f1c2a3e-.*' from 'shop'$/);
  assert.equal(bq.health().queues[0]?.inFlight, 0);
  finish();
  await clock.advance(60_000);
  assert.deepEqual(transport.settled, []);
  assert.deepEqual([seen.of("lateResult").length, seen.of("handled").length], [1, 0]);
}

test("a lease that cannot be extended is lost when it ends", async () => {
  await onLease({ leaseMs: 10_000, extends: false }, async (bench) => {
    const { transport, clock, seen, signals } = bench;
    transport.put("shop");
    await clock.advance(9_999);
    assert.deepEqual([signals[0]?.aborted, seen.of("leaseLost").length], [false, 0]);
    await clock.advance(1);
    await lostFor(bench);
  });
});

test("a lease is lost when extend() gives null", async () => {
  await onLease({}, async (bench) => {
    const { transport, clock } = bench;
    transport.script.extend = () => Promise.resolve(null);
    transport.put("shop");
    await clock.advance(5_000);
    assert.equal(transport.extended.length, 1);
    await lostFor(bench);
  });
});

test("a lease is lost when the transport says so", async () => {
  const cause = new Error("partition revoked");
  await onLease({}, async (bench) => {
    const { transport, clock } = bench;
    const delivery = transport.put("shop");
    await clock.advance(1_234);
    transport.subscriptions[0]!.lost(delivery, cause);
    // A second report changes nothing.
    transport.subscriptions[0]!.lost(delivery, new Error("again"));
    await lostFor(bench, cause);
  });
});

test("a lease is lost at its end when extend() never answers", async () => {
  await onLease({}, async (bench) => {
    const { transport, clock, seen } = bench;
    transport.script.extend = () => never();
    transport.put("shop");
    await clock.advance(9_999);
    assert.equal(seen.of("leaseLost").length, 0);
    await clock.advance(1);
    assert.equal(transport.extended.length, 1);
    await lostFor(bench);
  });
});

test("extend() that fails to the end loses the lease then, not sooner", async () => {
  await onLease({}, async (bench) => {
    const { transport, clock, seen } = bench;
    const failure = new Error("reset by peer");
    transport.script.extend = () => Promise.reject(failure);
    transport.put("shop");
    await clock.advance(9_999);
    assert.equal(seen.of("leaseLost").length, 0);
    // At most one try every 20 ms at the end, not a storm.
    assert.ok(transport.extended.length < 15, `${transport.extended.length}`);
    await clock.advance(1);
    await lostFor(bench, failure);
  });
});

test("a message whose lease was lost frees its slot, and its next delivery is another one", async () => {
  await onLease({}, async ({ transport, clock, signals, finish, seen }) => {
    const first = transport.put("shop");
    await clock.advance(0);
    transport.subscriptions[0]!.lost(first, new Error("gone"));
    await clock.advance(0);
    const second = transport.put("shop");
    await clock.advance(0);
    assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false]);
    finish();
    await clock.advance(0);
    assert.deepEqual(transport.settled.map(({ delivery }) => delivery === second), [true]);
    assert.equal(seen.of("lateResult").length, 1);
  });
});

test("a message that is lost before it was received, or that comes too late, meets no handler", async () => {
  await onLease({}, async ({ transport, clock, signals, seen }) => {
    const early = transport.put("elsewhere");
    transport.subscriptions[0]!.lost(early, new Error("revoked"));
    const stale = transport.put("elsewhere", B0, { leaseUntilMs: clock.now() - 1 });
    transport.script.receive = () => {
      delete transport.script.receive;
      return Promise.resolve([early, stale]);
    };
    await clock.advance(1_000);
    await clock.advance(1_000);
    assert.deepEqual([signals.length, transport.settled.length], [0, 0]);
    assert.equal(seen.of("leaseLost").length, 2);
  });
});

test("a report of a loss after the settle was issued changes nothing", async () => {
  await onLease({}, async ({ transport, clock, finish, seen, signals }) => {
    const settling = gate();
    transport.script.settle = () => settling.opened.then(() => "settled");
    const delivery = transport.put("shop");
    await clock.advance(0);
    finish();
    await clock.advance(0);
    transport.subscriptions[0]!.lost(delivery, new Error("gone"));
    settling.open();
    await clock.advance(0);
    transport.subscriptions[0]!.lost(delivery, new Error("gone"));
    assert.deepEqual([transport.verdicts, seen.of("leaseLost").length], [["ack"], 0]);
    assert.equal(signals[0]?.aborted, false);
  });
});

test("on memory a message whose lease ran out is handled again, and only its new holder settles it", async () => {
  await withApp({}, async ({ bq, transport, clock, seen }) => {
    const first = gate();
    const attempts: number[] = [];
    bq.handle(URN, (_, ctx) => {
      attempts.push(ctx.attempt);
      return attempts.length === 1 ? first.opened : undefined;
    });
    const subscribe = transport.subscribe.bind(transport);
    transport.subscribe = async (queue, options) => {
      const subscription = await subscribe(queue, options);
      subscription.extend = () => Promise.reject(new Error("cannot be reached"));
      return subscription;
    };
    await bq.publishRaw("shop", bytes(B0));
    const running = bq.run();
    await clock.advance(29_999);
    assert.deepEqual(attempts, [1]);
    await clock.advance(1_001);
    assert.deepEqual(attempts, [1, 1]);
    first.open();
    await clock.advance(0);
    assert.deepEqual([seen.of("handled").length, seen.of("lateResult").length], [1, 1]);
    assert.deepEqual(await transport.size("shop"), { ready: 0, delayed: 0, inFlight: 0 });
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

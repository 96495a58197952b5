import assert from "node:assert/strict";
import { MemoryStore } from "@bq/core";
import { fakeClock } from "@bq/core/testing";
import { test } from "../harness.ts";
import { QUEUE, receive, seam, text } from "./_seam.ts";

test("memory: messages come in the order of publishing, as many as asked for", async () => {
  const { put, subscribe } = await seam();
  await put(["a", "b", "c"]);
  await put(["d"]);
  const subscription = await subscribe();
  await receive(subscription, ["a", "b"], 2);
  await receive(subscription, ["c", "d"], 5);
  await receive(subscription, []);
});

test("memory: thousands of messages keep their order, taken in any portions", async () => {
  const { put, subscribe } = await seam();
  const subscription = await subscribe();
  const name = (n: number): string => `message ${n}`;
  let made = 0;
  let taken = 0;
  // More come than go, then the other way round.
  for (const [more, less] of [[7, 3], [1, 5], [700, 300], [100, 500]] as const) {
    for (let turn = 0; turn < 6; turn++) {
      const texts = Array.from({ length: more }, () => name(made++));
      await put(texts);
      const count = Math.min(less, made - taken);
      const expected = Array.from({ length: count }, () => name(taken++));
      for (const delivery of await receive(subscription, expected, count)) {
        await subscription.settle(delivery, { kind: "ack" });
      }
    }
  }
  await receive(subscription, Array.from({ length: made - taken }, () => name(taken++)), made);
  await receive(subscription, []);
});

test("memory: a delayed message comes at its time and not a millisecond sooner", async () => {
  const { clock, put, subscribe } = await seam();
  await put(["late"], { delayMs: 5_000 });
  await put(["later"], { delayMs: 6_000 });
  await put(["now"]);
  const subscription = await subscribe();
  await receive(subscription, ["now"]);
  await clock.advance(4_999);
  await receive(subscription, []);
  await clock.advance(1);
  await receive(subscription, ["late"]);
  await clock.advance(1_000);
  await receive(subscription, ["later"]);
});

test("memory: messages that fall due together come in the order of their times", async () => {
  const { clock, put, subscribe } = await seam();
  await put(["c"], { delayMs: 30 });
  await put(["a"], { delayMs: 10 });
  await put(["b"], { delayMs: 20 });
  await put(["b2"], { delayMs: 20 });
  const subscription = await subscribe();
  await clock.advance(100);
  await put(["published after them"]);
  await receive(subscription, ["a", "b", "b2", "c", "published after them"]);
});

test("memory: a receive that waits is woken by a message, a due one and a lease that ends", async () => {
  const { clock, put, subscribe } = await seam({ leaseMs: 30_000 });
  const subscription = await subscribe();
  const other = await subscribe();

  const first = subscription.receive(1, 600_000);
  await clock.advance(0);
  assert.equal(clock.pending, 1);
  await put(["published"]);
  assert.deepEqual((await first).map(text), ["published"]);
  assert.equal(clock.pending, 0);

  const second = other.receive(1, 600_000);
  await clock.advance(0);
  assert.equal(clock.pending, 1);
  await put(["delayed"], { delayMs: 1_000 });
  await clock.advance(1_000);
  assert.deepEqual((await second).map(text), ["delayed"]);

  const third = subscription.receive(1, 600_000);
  await clock.advance(29_000);
  assert.deepEqual((await third).map(text), ["published"]);
  assert.equal(clock.pending, 0);
});

test("memory: a receive that waits sees a lease that another one takes and lets end", async () => {
  const { clock, put, subscribe, transport } = await seam({ leaseMs: 1_000 });
  const crashes = await subscribe();
  const waits = await subscribe();
  await put(["message"]);
  const [held] = await receive(crashes, ["message"]);
  await crashes.settle(held!, { kind: "release", delayMs: 500 });
  const waiting = waits.receive(1, 600_000);
  await clock.advance(499);
  // Due now: it is taken before the one that waits gets to look.
  const taking = clock.advance(1);
  const taken = crashes.receive(1, 600_000);
  await taking;
  const first = await Promise.race([taken, waiting]);
  assert.deepEqual(first.map(text), ["message"]);
  assert.equal((await transport.size(QUEUE)).inFlight, 1);
  await clock.advance(1_000);
  for (const came of await Promise.all([taken, waiting])) {
    assert.deepEqual(came.map(text), ["message"]);
  }
});

test("memory: a receive that waits is not disturbed by what falls due after its own time", async () => {
  const clock = fakeClock();
  let sleeps = 0;
  const { put, subscribe } = await seam({}, {
    ...clock,
    sleep: (ms, signal) => (sleeps++, clock.sleep(ms, signal)),
  });
  const waiting = (await subscribe()).receive(1, 1_000);
  await clock.advance(0);
  for (let n = 0; n < 5; n++) await put([`${n}`], { delayMs: 1_001 });
  await clock.advance(1_000);
  assert.deepEqual(await waiting, []);
  assert.equal(sleeps, 1);
});

test("memory: a receive ends with nothing when its time is over, and leaves no timer", async () => {
  const { clock, subscribe } = await seam();
  const subscription = await subscribe();
  const waiting = subscription.receive(1, 1_000);
  await clock.advance(999);
  assert.equal(clock.pending, 1);
  await clock.advance(1);
  assert.deepEqual(await waiting, []);
  assert.equal(clock.pending, 0);
});

test("memory: the end of intake and close() end a receive and leave no timer or listener", async () => {
  for (const ending of ["intake", "subscription", "transport"] as const) {
    const store = new MemoryStore();
    const { clock, subscribe, transport, intake } = await seam({ store });
    let waiters = 0;
    const queue = store.queue(QUEUE);
    const { addWaiter, deleteWaiter } = queue;
    Object.assign(queue, {
      addWaiter: (...args: Parameters<typeof addWaiter>) => (
        waiters++, addWaiter.apply(queue, args)
      ),
      deleteWaiter: (...args: Parameters<typeof addWaiter>) => (
        waiters--, deleteWaiter.apply(queue, args)
      ),
    });
    let listeners = 0;
    const { signal } = intake;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => (listeners++, add(...args)),
      removeEventListener: (...args: Parameters<typeof remove>) => (listeners--, remove(...args)),
    });
    const subscription = await subscribe();
    const waiting = subscription.receive(1, 600_000);
    await clock.advance(0);
    assert.deepEqual([clock.pending, listeners, waiters], [1, 1, 1]);
    if (ending === "intake") intake.abort();
    else if (ending === "subscription") await subscription.close();
    else await transport.close();
    assert.deepEqual(await waiting, []);
    assert.deepEqual([clock.pending, listeners, waiters], [0, 0, 0]);
  }
});

test("memory: after the end of intake nothing is taken, and settle and extend still work", async () => {
  const { put, subscribe, intake, transport } = await seam();
  const subscription = await subscribe();
  await put(["a", "b"]);
  const [a] = await receive(subscription, ["a"], 1);
  intake.abort();
  await receive(subscription, []);
  assert.notEqual(await subscription.extend!(a!), null);
  assert.equal(await subscription.settle(a!, { kind: "ack" }), "settled");
  assert.deepEqual(await transport.size(QUEUE), { ready: 1, delayed: 0, inFlight: 0 });
});

test("memory: a snapshot ends with what was there, whatever comes back meanwhile", async () => {
  const { put, subscribe, transport } = await seam();
  await put(["a", "b"]);
  await put(["not due"], { delayMs: 1 });
  const snapshot = await subscribe({ snapshot: true });
  await put(["c"]);
  const [a, b] = await receive(snapshot, ["a", "b"]);
  await snapshot.settle(a!, { kind: "return" });
  await snapshot.settle(b!, { kind: "release", delayMs: 0 });
  assert.deepEqual(await snapshot.receive(10, 600_000), []);
  await snapshot.close();
  assert.deepEqual(await transport.size(QUEUE), { ready: 3, delayed: 1, inFlight: 0 });
});

test("memory: a snapshot does not give what came later in the place of what another one took", async () => {
  const { put, subscribe } = await seam();
  await put(["a", "b"]);
  const snapshot = await subscribe({ snapshot: true });
  await put(["c"]);
  await receive(await subscribe(), ["a"], 1);
  await receive(snapshot, ["b"]);
  await receive(snapshot, []);
});

test("memory: a wall clock that is set back or forward moves no delay and no lease", async () => {
  const clock = fakeClock();
  let aheadMs = 0;
  const { put, subscribe } = await seam({ leaseMs: 2_000 }, {
    ...clock,
    now: () => clock.now() + aheadMs,
  });
  await put(["delayed"], { delayMs: 1_000 });
  const subscription = await subscribe();
  aheadMs = 3_600_000;
  await receive(subscription, []);
  aheadMs = -3_600_000;
  await clock.advance(1_000);
  const [delivery] = await receive(subscription, ["delayed"]);
  assert.equal(delivery!.leaseUntilMs, clock.now() + aheadMs + 2_000);
  aheadMs = 3_600_000;
  assert.equal(await subscription.extend!(delivery!), clock.now() + aheadMs + 2_000);
  await clock.advance(1_999);
  await receive(subscription, []);
  await clock.advance(1);
  await receive(subscription, ["delayed"]);
});

import assert from "node:assert/strict";
import { BabelQueue, memory, MemoryStore } from "@bq/core";
import { fakeClock, inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, ended, NOW_MS, URN, warned, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

test("close() before any use closes the transport, once for all callers", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, seen }) => {
    const first = bq.close();
    assert.equal(bq.close(), first);
    assert.equal(bq[Symbol.asyncDispose](), first);
    await first;
    await bq.close();
    assert.deepEqual(transport.log, ["close"]);
    assert.deepEqual([transport.opens, seen.events.length], [0, 0]);
    assert.deepEqual(bq.health(), { state: "closed", connected: false, queues: [] });
  });
});

test("close() stops, settles what is in flight, ends the subscription, then disconnects", async () => {
  const transport = new ScriptedTransport();
  transport.script.settle = () => {
    transport.log.push("settle");
    return undefined;
  };
  await withApp({ transport }, async ({ bq, clock }) => {
    bq.handle(URN, async (_, ctx) => {
      await clock.sleep(2_000);
      // The connection is there for what is still at work.
      await ctx.publish("urn:babel:orders:paid", {});
      transport.log.push("handled");
    });
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(0);
    await ended(Promise.all([bq.close(), running]), clock);
    assert.equal(clock.now(), NOW_MS + 2_000);
    assert.equal(transport.published.length, 1);
    assert.deepEqual(transport.log, [
      "subscribe shop",
      "handled",
      "settle",
      "unsubscribe shop",
      "close",
    ]);
  });
});

test("close() gives back what a handler cannot finish, then disconnects, within its time", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, shutdownTimeoutMs: 3_000 }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => never());
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(0);
    await ended(Promise.all([bq.close(), running]), clock);
    assert.ok(clock.now() <= NOW_MS + 3_000);
    assert.deepEqual(transport.verdicts, ["return"]);
    assert.equal(transport.log.at(-1), "close");
    assert.equal(seen.of("shutdownTimedOut").length, 0);
  });
});

test("close() ends within its time although the transport never does, and says so", async () => {
  for (const [shutdownTimeoutMs, within] of [[4_000, 4_000], [0, 1_000]] as const) {
    let signal: AbortSignal | undefined;
    const transport = new ScriptedTransport({ close: (given) => (signal = given, never()) });
    await withApp({ transport, shutdownTimeoutMs }, async ({ bq, clock, seen }) => {
      await bq.connect();
      let over = false;
      const closing = bq.close().then(() => over = true);
      await clock.advance(within - 1);
      assert.deepEqual([over, signal?.aborted], [false, false]);
      await clock.advance(1);
      assert.deepEqual([over, signal?.aborted], [true, true]);
      await closing;
      assert.deepEqual(seen.of("shutdownTimedOut").map(({ unfinished }) => unfinished), [0]);
      assert.equal(bq.health().state, "closed");
    });
  }
});

test("close() ends within its time although a subscription never does", async () => {
  let signal: AbortSignal | undefined;
  const transport = new ScriptedTransport({
    endSubscription: (_queue, given) => (signal = given, never()),
  });
  await withApp({ transport, shutdownTimeoutMs: 4_000 }, async ({ bq, clock }) => {
    const running = bq.run();
    await clock.advance(0);
    await ended(Promise.all([bq.close(), running]), clock);
    assert.ok(clock.now() <= NOW_MS + 4_000);
    assert.equal(signal?.aborted, true);
    assert.equal(transport.log.at(-1), "close");
  });
});

test("close() rejects with what the transport's close rejects with, for every caller", async () => {
  const failure = new Error("cannot say goodbye");
  const transport = new ScriptedTransport({ close: () => Promise.reject(failure) });
  const bq = new BabelQueue(transport, { clock: fakeClock() });
  await bq.connect();
  for (let n = 0; n < 2; n++) await assert.rejects(bq.close(), (error) => error === failure);
  assert.equal(bq.health().state, "closed");
});

test("close() called inside a handler and not awaited lets that handler finish and settles it", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock }) => {
    let closing: Promise<void> | undefined;
    bq.handle(URN, async () => {
      closing = bq.close();
      await clock.sleep(100);
    });
    const running = bq.run();
    await clock.advance(0);
    for (let n = 0; n < 2; n++) transport.put("shop");
    await clock.advance(100);
    await Promise.all([running, closing]);
    assert.equal(clock.now(), NOW_MS + 100);
    assert.deepEqual(transport.verdicts, ["ack"]);
    assert.equal(transport.log.at(-1), "close");
  });
});

test("close() awaited inside a handler ends at the deadline, its message given back", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, shutdownTimeoutMs: 5_000 }, async ({ bq, clock }) => {
    let after = false;
    bq.handle(URN, async () => {
      await bq.close();
      after = true;
    });
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(0);
    await ended(running, clock);
    await clock.advance(0);
    assert.equal(after, true);
    assert.ok(clock.now() <= NOW_MS + 5_000);
    assert.deepEqual(transport.verdicts, ["return"]);
  });
});

test("close() while the worker backs off ends at once", async () => {
  const transport = new ScriptedTransport({ receive: () => Promise.reject(new Error("down")) });
  await withApp({ transport }, async ({ bq, clock }) => {
    const running = bq.run();
    await clock.advance(60_000);
    await bq.close();
    await running;
    assert.equal(clock.now(), NOW_MS + 60_000);
  });
});

test("a stop() that is under way and close() end together", async () => {
  await withApp({ shutdownTimeoutMs: 10_000 }, async ({ bq, clock }) => {
    bq.handle(URN, () => never());
    await bq.publish(URN, {});
    const running = bq.run();
    await clock.advance(0);
    const stopping = bq.stop();
    await clock.advance(5_000);
    const closing = bq.close();
    await clock.advance(4_000);
    await Promise.all([stopping, closing, running]);
    assert.equal(clock.now(), NOW_MS + 9_000);
  });
});

test("a closed App leaves no wait behind", async () => {
  const transport = new ScriptedTransport({}, { leaseMs: 60_000 });
  await withApp({ transport, shutdownTimeoutMs: 1_000 }, async ({ bq, clock }) => {
    bq.handle(URN, ({ n }) => n === 0 ? never() : undefined);
    const running = bq.run({ queues: ["shop", "video"] });
    await clock.advance(0);
    for (let n = 0; n < 3; n++) transport.put("shop");
    transport.script.publish = () => never();
    const outcome = assert.rejects(bq.publish(URN, {}), { code: "publish_uncertain" });
    await clock.advance(10);
    await ended(Promise.all([bq.close(), running, outcome]), clock);
    assert.equal(clock.pending, 0);
  });
});

test("an App that is closed in order says nothing to anybody", async () => {
  const lines = await warned(async () => {
    const clock = fakeClock();
    const bq = new BabelQueue(memory(), { clock, deadLetter: true });
    bq.handle(URN, () => {});
    await bq.publish(URN, {});
    const running = bq.run();
    await clock.advance(0);
    await bq.stop();
    await running;
    await ended(bq.consume(), clock);
    await bq.close();
    const early = new BabelQueue(memory());
    await early.close();
  });
  assert.deepEqual(lines, []);
});

test("a message that closing leaves is there for the next App, as its first attempt", async () => {
  const store = new MemoryStore();
  const first = { transport: memory({ store }), shutdownTimeoutMs: 1_000 };
  await withApp(first, async ({ bq, clock }) => {
    bq.handle(URN, () => never());
    await inject(bq, "shop", B0);
    const running = bq.run();
    await clock.advance(0);
    await ended(Promise.all([bq.close(), running]), clock);
  });
  await withApp({ transport: memory({ store }) }, async ({ bq, clock }) => {
    const attempts: number[] = [];
    bq.handle(URN, (_, ctx) => void attempts.push(ctx.attempt));
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(attempts, [1]);
  });
});

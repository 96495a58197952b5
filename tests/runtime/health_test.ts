import assert from "node:assert/strict";
import { ConnectionError, RetryAfterError } from "@bq/core";
import { test } from "../harness.ts";
import { ended, envelope, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

const IDLE = { inFlight: 0, held: 0, settling: 0, lateResults: 0 };

test("health() goes with the App from idle to closed", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock }) => {
    assert.deepEqual(bq.health(), { state: "idle", connected: false, queues: [] });
    await bq.connect();
    assert.deepEqual(bq.health(), { state: "idle", connected: true, queues: [] });
    const working = gate();
    bq.handle(URN, () => working.opened);
    const running = bq.run();
    await clock.advance(0);
    assert.deepEqual(bq.health(), {
      state: "working",
      connected: true,
      queues: [{ queue: "shop", state: "working", lastPollAtMs: null, lastError: null, ...IDLE }],
    });
    transport.put("shop");
    await clock.advance(0);
    const closing = bq.close();
    await clock.advance(0);
    const { state, connected, queues } = bq.health();
    assert.deepEqual([state, connected], ["stopping", true]);
    assert.deepEqual([queues[0]?.state, queues[0]?.inFlight], ["stopping", 1]);
    working.open();
    await ended(Promise.all([closing, running]), clock);
    assert.deepEqual(bq.health(), { state: "closed", connected: false, queues: [] });
  });
});

test("health() says stopping, whoever asked for it: stop(), close() or the signal", async () => {
  for (const way of ["stop", "close", "signal"]) {
    const transport = new ScriptedTransport();
    await withApp({ transport }, async ({ bq, clock }) => {
      const working = gate();
      const stop = new AbortController();
      bq.handle(URN, () => working.opened);
      const running = bq.run({ signal: stop.signal });
      await clock.advance(0);
      transport.put("shop");
      await clock.advance(0);
      assert.equal(bq.health().state, "working");
      const stopping = way === "stop" ? bq.stop() : way === "close" ? bq.close() : stop.abort();
      await clock.advance(100);
      assert.deepEqual([bq.health().state, bq.health().queues[0]?.state], ["stopping", "stopping"]);
      working.open();
      await ended(Promise.all([stopping, running]), clock);
      assert.equal(bq.health().state, way === "close" ? "closed" : "idle");
    });
  }
});

test("health() says working while one queue of several goes on", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock }) => {
    const stop = new AbortController();
    bq.handle(URN, () => never());
    const first = bq.run({ queues: ["shop"], signal: stop.signal });
    const second = bq.run({ queues: ["video"] });
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(0);
    stop.abort();
    await clock.advance(0);
    const { state, queues } = bq.health();
    assert.deepEqual([state, queues.map(({ state }) => state)], [
      "working",
      ["stopping", "working"],
    ]);
    await ended(Promise.all([bq.stop(), first, second]), clock);
  });
});

test("health() of a queue says what its worker is doing", async () => {
  const opening = gate();
  const subscribing = gate();
  const transport = new ScriptedTransport({
    open: () => opening.opened,
    subscribe: () => subscribing.opened,
  });
  await withApp({ transport, random: () => 0 }, async ({ bq, clock }) => {
    const running = bq.run();
    const state = async (): Promise<string | undefined> => {
      await clock.advance(0);
      return bq.health().queues[0]?.state;
    };
    assert.equal(await state(), "subscribing");
    opening.open();
    assert.equal(await state(), "subscribing");
    subscribing.open();
    assert.equal(await state(), "working");
    const broken = new Error("reset by peer");
    transport.script.receive = () => Promise.reject(broken);
    await clock.advance(1_000);
    assert.equal(await state(), "backing_off");
    assert.equal(bq.health().queues[0]?.lastError, broken);
    delete transport.script.receive;
    await clock.advance(100);
    assert.equal(await state(), "working");
    // What went wrong last stays to be read.
    assert.equal(bq.health().queues[0]?.lastError, broken);
    bq.handle(URN, () => never());
    transport.put("shop");
    await clock.advance(0);
    const stopping = bq.stop();
    assert.equal(await state(), "stopping");
    await ended(Promise.all([stopping, running]), clock);
    assert.equal(await state(), undefined);
  });
});

test("health() says backing_off while a queue cannot be subscribed to", async () => {
  const transport = new ScriptedTransport({
    subscribe: () => Promise.reject(new ConnectionError("no such queue")),
  });
  await withApp({ transport }, async ({ bq, clock }) => {
    const running = bq.run();
    await clock.advance(0);
    const [health] = bq.health().queues;
    assert.deepEqual([health?.state, health?.lastError?.message], ["backing_off", "no such queue"]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("health() counts what is in flight, held and settling, and results that came late", async () => {
  const transport = new ScriptedTransport({}, { policy: { retryDelay: { kind: "held" } } });
  await withApp({ transport, concurrency: 5, handlerTimeoutMs: 60_000 }, async (bench) => {
    const { bq, clock } = bench;
    const settling = gate();
    const late = gate();
    const deeds: Record<string, () => unknown> = {
      hangs: () => never(),
      holds: () => {
        throw new RetryAfterError(20_000);
      },
      settles: () => {},
      late: () => late.opened,
    };
    bq.handle(URN, ({ deed }) => deeds[String(deed)]!());
    bq.handle("urn:babel:late", () => late.opened, { timeoutMs: 10 });
    const running = bq.run();
    await clock.advance(0);
    const numbers = (): object => {
      const { inFlight, held, settling, lateResults } = bq.health().queues[0]!;
      return { inFlight, held, settling, lateResults };
    };
    assert.deepEqual(numbers(), IDLE);
    transport.script.settle = () => settling.opened.then(() => "settled");
    for (const deed of ["hangs", "hangs", "holds", "settles", "settles", "settles"]) {
      transport.put("shop", envelope({ data: `{"deed":"${deed}"}` }));
    }
    transport.put("shop", envelope({ job: '"urn:babel:late"' }));
    await clock.advance(5);
    assert.deepEqual(numbers(), { inFlight: 3, held: 1, settling: 3, lateResults: 0 });
    await clock.advance(5);
    assert.deepEqual(numbers(), { inFlight: 2, held: 1, settling: 4, lateResults: 0 });
    late.open();
    settling.open();
    await clock.advance(0);
    assert.deepEqual(numbers(), { inFlight: 2, held: 1, settling: 0, lateResults: 1 });
    await clock.advance(20_000);
    assert.deepEqual(numbers(), { inFlight: 2, held: 0, settling: 0, lateResults: 1 });
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("health() says when a receive last answered, empty or not", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, pollTimeoutMs: 700 }, async ({ bq, clock }) => {
    bq.handle(URN, () => {});
    const running = bq.run();
    const polled = (): number | null | undefined => bq.health().queues[0]?.lastPollAtMs;
    await clock.advance(699);
    assert.equal(polled(), null);
    await clock.advance(1);
    assert.equal(polled(), NOW_MS + 700);
    await clock.advance(100);
    transport.put("shop");
    await clock.advance(0);
    assert.equal(polled(), NOW_MS + 800);
    transport.script.receive = () => never();
    await clock.advance(20_000);
    assert.ok(polled()! <= NOW_MS + 1_500);
    await ended(Promise.all([bq.close(), running]), clock);
  });
});

test("health() shows a consume() like a run()", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock }) => {
    const consuming = bq.consume({ queue: "video", waitMs: 500 });
    await clock.advance(0);
    assert.deepEqual(bq.health().queues.map(({ queue, state }) => [queue, state]), [
      ["video", "working"],
    ]);
    await ended(consuming, clock);
    assert.deepEqual(bq.health().queues, []);
  });
});

test("what health() gave does not change afterwards", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock }) => {
    bq.handle(URN, () => never());
    const running = bq.run();
    await clock.advance(0);
    const before = bq.health();
    transport.put("shop");
    await clock.advance(0);
    assert.equal(before.queues[0]?.inFlight, 0);
    assert.equal(bq.health().queues[0]?.inFlight, 1);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

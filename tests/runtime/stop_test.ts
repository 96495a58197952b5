import assert from "node:assert/strict";
import { BabelQueueError, type HandlerContext } from "@bq/core";
import { inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, bodies, ended, envelope, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

test("stop() before any use, and again, is no error, and work may follow", async () => {
  await withApp({}, async ({ bq, clock }) => {
    await bq.stop();
    await bq.stop();
    bq.handle(URN, () => {});
    await bq.publish(URN, {});
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).handled, 1);
    await bq.stop();
    await bq.publish(URN, {});
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).handled, 1);
  });
});

test("stop() is not remembered: a run() that begins after it works until it is stopped itself", async () => {
  await withApp({}, async ({ bq, clock, seen }) => {
    let handled = 0;
    bq.handle(URN, () => void handled++);
    for (let round = 1; round <= 2; round++) {
      await bq.stop();
      const running = bq.run();
      await bq.publish(URN, {});
      await clock.advance(60_000);
      assert.deepEqual([handled, bq.health().state], [round, "working"]);
      await ended(Promise.all([bq.stop(), running]), clock);
    }
    assert.equal(seen.of("stopped").length, 2);
  });
});

test("stop() lets handlers finish, settles what they did, and takes nothing more", async () => {
  await withApp({ concurrency: 3 }, async ({ bq, transport, clock, seen }) => {
    const signals: AbortSignal[] = [];
    bq.handle(URN, async ({ n }, ctx) => {
      signals.push(ctx.signal);
      await clock.sleep(10_000);
      if (n === 1) throw new Error("boom");
    });
    for (let n = 0; n < 5; n++) await bq.publish(URN, { n });
    const running = bq.run();
    await clock.advance(1_000);
    const stopping = bq.stop();
    await clock.advance(8_999);
    assert.equal(bq.health().state, "stopping");
    assert.ok(signals.every(({ aborted }) => !aborted));
    await clock.advance(1);
    await Promise.all([stopping, running]);
    assert.equal(clock.now(), NOW_MS + 10_000);
    assert.deepEqual([seen.of("handled").length, seen.of("retried").length], [2, 1]);
    assert.deepEqual(await transport.size("shop"), { ready: 3, delayed: 0, inFlight: 0 });
  });
});

test("a message that waits for a slot, or comes after the request to stop, goes back unhandled", async () => {
  const answering = gate();
  const transport = new ScriptedTransport({}, { lanes: 2 });
  await withApp({ transport, concurrency: 2 }, async ({ bq, clock, seen }) => {
    await bq.connect();
    const working = gate();
    let handled = 0;
    bq.handle(URN, () => {
      handled++;
      return working.opened;
    });
    const batches = [
      () => Promise.resolve(["a", "b", "c"].map((queue) => transport.put(queue))),
      () => answering.opened.then(() => [transport.put("late")]),
    ];
    transport.script.receive = () => batches.shift()?.();
    const running = bq.run();
    await clock.advance(0);
    assert.deepEqual([handled, bq.health().queues[0]?.inFlight], [2, 3]);
    const stopping = bq.stop();
    await clock.advance(0);
    answering.open();
    await clock.advance(0);
    const settles = (): string[] =>
      transport.settled.map(({ delivery, verdict }) => `${delivery.queue} ${verdict.kind}`);
    assert.deepEqual(settles(), ["c return", "late return"]);
    working.open();
    await ended(Promise.all([stopping, running]), clock);
    assert.deepEqual(settles().slice(2).sort(), ["a ack", "b ack"]);
    assert.equal(handled, 2);
    assert.deepEqual(seen.of("returned").map(({ cause }) => cause), ["shutdown", "shutdown"]);
  });
});

test("at the deadline the handler's signal is aborted and its message goes back as it came", async () => {
  const body = ` ${envelope({ data: '{"n":12345678901234567890, "x":1.0}', extra: "[1e400]" })}\n`;
  const rows: readonly [timeoutMs: number, handlersMs: number][] = [
    [30_000, 29_000],
    [10_000, 9_000],
    [5_000, 4_500],
    [500, 450],
    [0, 0],
  ];
  for (const [shutdownTimeoutMs, handlersMs] of rows) {
    await withApp({ shutdownTimeoutMs }, async ({ bq, transport, clock, seen }) => {
      const contexts: HandlerContext[] = [];
      const late = gate();
      bq.handle(URN, (_, ctx) => {
        contexts.push(ctx);
        void ctx.signal;
        return late.opened;
      });
      await inject(bq, "shop", body, { headers: { tenant: "7" } });
      const running = bq.run();
      await clock.advance(50);
      const before = clock.now();
      const stopping = bq.stop();
      if (handlersMs > 0) {
        await clock.advance(handlersMs - 1);
        assert.equal(contexts[0]!.signal.aborted, false);
        await clock.advance(1);
      }
      const reason: unknown = contexts[0]!.signal.reason;
      assert.ok(reason instanceof BabelQueueError);
      assert.equal(reason.code, "shutdown");
      await clock.advance(0);
      await Promise.all([stopping, running]);
      assert.equal(clock.now() - before, handlersMs);
      assert.deepEqual(await bodies(transport, "shop"), [body]);
      late.open();
      await clock.advance(0);
      assert.deepEqual(seen.of("returned").map(({ cause }) => cause), ["shutdown"]);
      assert.deepEqual([seen.of("lateResult").length, seen.of("handled").length], [1, 0]);
      assert.equal(seen.of("shutdownTimedOut").length, 0);
      assert.deepEqual(await bodies(transport, "shop"), [body]);
    });
  }
});

test("a message that went back at the deadline is the first attempt of the next worker", async () => {
  await withApp({ shutdownTimeoutMs: 100 }, async ({ bq, clock }) => {
    const attempts: number[] = [];
    bq.handle(URN, (_, ctx) => {
      attempts.push(ctx.attempt);
      return attempts.length === 1 ? never() : undefined;
    });
    await bq.publish(URN, {});
    const running = bq.run();
    await clock.advance(0);
    await ended(Promise.all([bq.stop(), running]), clock);
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(attempts, [1, 1]);
  });
});

test("a handler that fails because its signal was aborted is late: its message was given back", async () => {
  const transport = new ScriptedTransport();
  await withApp(
    { transport, shutdownTimeoutMs: 100, maxAttempts: 1 },
    async ({ bq, clock, seen }) => {
      bq.handle(
        URN,
        (_, { signal }) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      );
      const running = bq.run();
      await clock.advance(0);
      transport.put("shop");
      await clock.advance(0);
      await ended(Promise.all([bq.stop(), running]), clock);
      assert.deepEqual(transport.verdicts, ["return"]);
      assert.deepEqual([seen.of("failed").length, seen.of("lateResult").length], [0, 1]);
    },
  );
});

test("forceSignal ends handlers at once, with and without a stop before it", async () => {
  for (const stopsFirst of [false, true]) {
    const transport = new ScriptedTransport();
    await withApp({ transport, concurrency: 2 }, async ({ bq, clock }) => {
      const stop = new AbortController();
      const force = new AbortController();
      const signals: AbortSignal[] = [];
      bq.handle(URN, (_, ctx) => {
        signals.push(ctx.signal);
        return never();
      });
      const running = bq.run({ signal: stop.signal, forceSignal: force.signal });
      await clock.advance(0);
      for (let n = 0; n < 2; n++) transport.put("shop");
      await clock.advance(0);
      if (stopsFirst) stop.abort();
      await clock.advance(100);
      assert.equal(transport.settled.length, 0);
      force.abort();
      assert.deepEqual(transport.verdicts, ["return", "return"]);
      assert.ok(signals.every(({ aborted }) => aborted));
      await clock.advance(0);
      await running;
      assert.equal(clock.now(), NOW_MS + 100);
    });
  }
});

test("a second stop() waits for the first and gives no more time", async () => {
  await withApp({ shutdownTimeoutMs: 10_000 }, async ({ bq, clock }) => {
    bq.handle(URN, () => never());
    await bq.publish(URN, {});
    const running = bq.run();
    await clock.advance(0);
    const first = bq.stop();
    await clock.advance(5_000);
    const second = bq.stop();
    await clock.advance(4_000);
    await Promise.all([first, second, running]);
    assert.equal(clock.now(), NOW_MS + 9_000);
  });
});

test("stop() ends within its time although a settle never answers, and says what is unfinished", async () => {
  for (
    const [shutdownTimeoutMs, within] of [[20_000, 20_000], [5_000, 5_000], [0, 1_000]] as const
  ) {
    const transport = new ScriptedTransport({ settle: () => never() });
    await withApp({ transport, shutdownTimeoutMs, concurrency: 2 }, async ({ bq, clock, seen }) => {
      bq.handle(URN, ({ hangs }) => hangs ? never() : undefined);
      const running = bq.run();
      await clock.advance(0);
      transport.put("shop", envelope({ data: '{"hangs":true}' }));
      transport.put("shop");
      await clock.advance(0);
      const before = clock.now();
      const stopping = bq.stop();
      await ended(Promise.all([stopping, running]), clock);
      assert.equal(clock.now() - before, within);
      assert.deepEqual(transport.verdicts, ["ack", "return"]);
      assert.deepEqual(seen.of("shutdownTimedOut"), [
        { level: "error", type: "shutdownTimedOut", unfinished: 2 },
      ]);
    });
  }
});

test("stop() ends at once while the worker backs off, subscribes or connects", async () => {
  const down = (): Promise<never> => Promise.reject(new Error("down"));
  for (
    const script of [{ receive: down }, { subscribe: down }, { open: down }, {
      open: () => never<void>(),
    }]
  ) {
    const transport = new ScriptedTransport(script);
    await withApp({ transport, random: () => 0 }, async ({ bq, clock }) => {
      const running = bq.run();
      await clock.advance(5_000);
      const stopping = bq.stop();
      await clock.advance(0);
      await Promise.all([stopping, running]);
      assert.equal(clock.now(), NOW_MS + 5_000);
      const health = bq.health();
      assert.deepEqual([health.state, health.queues], ["idle", []]);
    });
  }
});

test("stop() does not wait beyond its time for a subscribe that never answers", async () => {
  const transport = new ScriptedTransport({ subscribe: () => never() });
  await withApp({ transport, shutdownTimeoutMs: 2_000 }, async ({ bq, clock }) => {
    const running = bq.run();
    await clock.advance(0);
    await ended(Promise.all([bq.stop(), running]), clock);
    assert.ok(clock.now() <= NOW_MS + 2_000);
  });
});

test("stop() called inside a handler and not awaited lets that handler finish", async () => {
  await withApp({}, async ({ bq, transport, clock }) => {
    let stopping: Promise<void> | undefined;
    bq.handle(URN, async () => {
      stopping = bq.stop();
      await clock.sleep(100);
    });
    for (let n = 0; n < 2; n++) await bq.publish(URN, {});
    const running = bq.run();
    await clock.advance(100);
    await Promise.all([running, stopping]);
    assert.deepEqual(await transport.size("shop"), { ready: 1, delayed: 0, inFlight: 0 });
  });
});

test("stop() awaited inside a handler cannot end before it: the message goes back at the deadline", async () => {
  await withApp({ shutdownTimeoutMs: 5_000 }, async ({ bq, transport, clock, seen }) => {
    let after = false;
    bq.handle(URN, async () => {
      await bq.stop();
      after = true;
    });
    await inject(bq, "shop", B0);
    const running = bq.run();
    await ended(running, clock);
    assert.deepEqual(await bodies(transport, "shop"), [B0]);
    await clock.advance(0);
    assert.equal(after, true);
    assert.deepEqual(seen.of("returned").map(({ cause }) => cause), ["shutdown"]);
    assert.equal(seen.of("lateResult").length, 1);
  });
});

test("stop() ends every run and every consume, and only those", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock }) => {
    const runs = [
      bq.run({ queues: ["a", "b"] }),
      bq.run({ queues: ["c"] }),
      bq.consume({ queue: "d", waitMs: 3_600_000 }),
    ];
    await clock.advance(0);
    await ended(bq.stop(), clock);
    await Promise.all(runs);
    assert.equal(clock.now(), NOW_MS);
    assert.equal(transport.log.includes("close"), false);
    await bq.publish(URN, {});
    assert.equal(transport.published.length, 1);
  });
});

test("a broker that is left alone at shutdown gets no return", async () => {
  const transport = new ScriptedTransport({}, { policy: { shutdown: "leave" } });
  await withApp({ transport, shutdownTimeoutMs: 100 }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => never());
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(0);
    await ended(Promise.all([bq.stop(), running]), clock);
    assert.deepEqual(transport.verdicts, ["leave"]);
    assert.equal(seen.of("left").length, 1);
  });
});

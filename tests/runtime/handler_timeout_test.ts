import assert from "node:assert/strict";
import { HandlerTimeoutError } from "@bq/core";
import { inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, bodies, ended, envelope, gate, NOW_MS, parsed, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

test("a handler past its time-out: its message takes the failure route at once, its signal is aborted", async () => {
  await withApp(
    { handlerTimeoutMs: 500, maxAttempts: 3 },
    async ({ bq, transport, clock, seen }) => {
      const signals: AbortSignal[] = [];
      bq.handle(URN, (_, ctx) => {
        signals.push(ctx.signal);
        return never();
      });
      await inject(bq, "shop", B0);
      const working = bq.consume({ maxMessages: 1, waitMs: 0 });
      await clock.advance(499);
      assert.deepEqual([signals[0]?.aborted, seen.of("failed").length], [false, 0]);
      await clock.advance(1);
      assert.equal(signals[0]?.aborted, true);
      const reason: unknown = signals[0]?.reason;
      assert.ok(reason instanceof HandlerTimeoutError);
      assert.equal(reason.message, `Cannot finish the handler of '${URN}': it ran past 500 ms`);
      const [failed] = seen.of("failed");
      assert.deepEqual([failed?.error, failed?.durationMs], [reason, 500]);
      await ended(working, clock);
      assert.deepEqual(await bodies(transport, "shop"), [envelope({ attempts: "1" })]);
    },
  );
});

test("a handler past its time-out gives its slot to the next message", async () => {
  await withApp({ handlerTimeoutMs: 500, maxAttempts: 1 }, async ({ bq, clock }) => {
    const handled: unknown[] = [];
    bq.handle(URN, ({ n }) => n === 0 ? never() : handled.push(n));
    for (let n = 0; n < 3; n++) await bq.publish(URN, { n });
    const running = bq.run();
    await clock.advance(499);
    assert.deepEqual(handled, []);
    await clock.advance(1);
    assert.deepEqual(handled, [1, 2]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("the late result of a handler is ignored and counted, a late failure too", async () => {
  const transport = new ScriptedTransport();
  await withApp(
    { transport, handlerTimeoutMs: 500, concurrency: 2 },
    async ({ bq, clock, seen }) => {
      const late = gate();
      bq.handle(URN, ({ fails }) =>
        late.opened.then(() => {
          if (fails) throw new Error("too late");
        }));
      const running = bq.run();
      await clock.advance(0);
      for (const fails of [true, false]) {
        transport.put("shop", envelope({ data: `{"fails":${fails}}` }));
      }
      await clock.advance(500);
      assert.deepEqual(transport.verdicts, ["retry", "retry"]);
      assert.equal(bq.health().queues[0]?.lateResults, 0);
      late.open();
      await clock.advance(0);
      assert.equal(bq.health().queues[0]?.lateResults, 2);
      assert.equal(transport.settled.length, 2);
      assert.deepEqual(
        [seen.of("lateResult").length, seen.of("failed").length, seen.of("handled").length],
        [2, 2, 0],
      );
      await ended(Promise.all([bq.stop(), running]), clock);
    },
  );
});

test("a handler that never returns is dead-lettered at its last attempt with the time-out", async () => {
  await withApp({ maxAttempts: 2, deadLetter: true }, async ({ bq, transport, clock }) => {
    bq.handle(URN, () => never(), { timeoutMs: 100 });
    await inject(bq, "shop", B0);
    await ended(bq.consume({ waitMs: 1_000 }), clock);
    const block = parsed((await bodies(transport, "shop.dlq"))[0]).dead_letter;
    const { reason, exception, error, failed_at } = block as Record<string, unknown>;
    assert.deepEqual([reason, exception, failed_at], [
      "failed",
      "HandlerTimeoutError",
      NOW_MS + 200,
    ]);
    assert.match(String(error), /it ran past 100 ms$/);
  });
});

test("a handler that ends in time has no time-out afterwards", async () => {
  await withApp({ handlerTimeoutMs: 500 }, async ({ bq, clock, seen }) => {
    const signals: AbortSignal[] = [];
    bq.handle(URN, async (_, ctx) => {
      signals.push(ctx.signal);
      await clock.sleep(499);
    });
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    await clock.advance(10_000);
    assert.deepEqual([signals[0]?.aborted, seen.of("failed").length], [false, 0]);
  });
});

test("a handler that ended in time has no time-out while its message is being settled", async () => {
  const settling = gate();
  const transport = new ScriptedTransport({ settle: () => settling.opened.then(() => "settled") });
  await withApp({ transport, handlerTimeoutMs: 500 }, async ({ bq, clock, seen }) => {
    let signal: AbortSignal | undefined;
    bq.handle(URN, (_, ctx) => void (signal = ctx.signal));
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(1_000);
    settling.open();
    await clock.advance(0);
    assert.equal(signal?.aborted, false);
    assert.deepEqual([seen.of("lateResult").length, bq.health().queues[0]?.lateResults], [0, 0]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("the time-out covers middlewares and the schema", async () => {
  await withApp({ handlerTimeoutMs: 500, maxAttempts: 1 }, async ({ bq, clock, seen }) => {
    let handled = 0;
    bq.use(async (_, next) => {
      await clock.sleep(600);
      await next();
    });
    bq.handle(URN, () => void handled++);
    await bq.publish(URN, {});
    const working = bq.consume({ waitMs: 0 });
    await clock.advance(500);
    assert.equal(seen.of("failed").length, 1);
    await ended(working, clock);
    await clock.advance(100);
    // The message is dropped already, and a handler that has not begun never sees it.
    assert.deepEqual([handled, seen.of("dropped").length, seen.of("lateResult").length], [0, 1, 1]);
  });
});

test("a signal that is asked for late is aborted already", async () => {
  await withApp({ handlerTimeoutMs: 500, maxAttempts: 1 }, async ({ bq, clock }) => {
    const late = gate();
    let reason: unknown;
    bq.handle(URN, async (_, ctx) => {
      await late.opened;
      reason = ctx.signal.reason;
    });
    await bq.publish(URN, {});
    const working = bq.consume({ waitMs: 0 });
    await clock.advance(500);
    await ended(working, clock);
    late.open();
    await clock.advance(0);
    assert.ok(reason instanceof HandlerTimeoutError);
  });
});

test("the first reason of an abort stays: a time-out is not replaced by the shutdown", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, handlerTimeoutMs: 500 }, async ({ bq, clock }) => {
    let signal: AbortSignal | undefined;
    bq.handle(URN, (_, ctx) => {
      signal = ctx.signal;
      return never();
    });
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(500);
    await ended(Promise.all([bq.close(), running]), clock);
    assert.ok(signal?.reason instanceof HandlerTimeoutError);
  });
});

test("a wall clock that is set back or forward changes no time-out", async () => {
  for (const setMs of [-3_600_000, 3_600_000]) {
    await withApp({ handlerTimeoutMs: 500 }, async (bench) => {
      const { clock } = bench;
      let offsetMs = 0;
      const wall = {
        now: () => clock.now() + offsetMs,
        elapsed: () => clock.elapsed(),
        sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
      };
      await withApp({ clock: wall }, async ({ bq, seen }) => {
        bq.handle(URN, () => never(), { timeoutMs: 500 });
        await bq.publish(URN, {});
        const working = bq.consume({ waitMs: 0, maxMessages: 1 });
        await clock.advance(250);
        offsetMs = setMs;
        await clock.advance(249);
        assert.equal(seen.of("failed").length, 0, String(setMs));
        await clock.advance(1);
        assert.equal(seen.of("failed").length, 1, String(setMs));
        await ended(working, clock);
      });
    });
  }
});

import assert from "node:assert/strict";
import { BabelQueue, memory, RetryAfterError, systemClock } from "@bq/core";
import { fakeClock } from "@bq/core/testing";
import { Deadlines } from "../../runtime/_deadlines.ts";
import { test } from "../harness.ts";
import { ended, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

test("a deadline that is no number is due at once, and the others keep theirs", async () => {
  const clock = fakeClock();
  const deadlines = new Deadlines(clock);
  const due: string[] = [];
  deadlines.add(100, () => due.push("late"));
  deadlines.add(NaN, () => due.push("NaN"));
  deadlines.add(50, () => due.push("early"));
  await clock.advance(1);
  assert.deepEqual(due, ["NaN"]);
  await clock.advance(99);
  assert.deepEqual(due, ["NaN", "early", "late"]);
  deadlines.close();
});

test("RetryAfterError takes a finite number of at least 0 and nothing else", () => {
  for (const delayMs of [5n, "5", NaN, -1, Infinity, null, undefined, {}, Symbol("5")]) {
    assert.throws(() => new RetryAfterError(delayMs as number), { code: "invalid_option" });
  }
  assert.equal(new RetryAfterError(0).delayMs, 0);
  assert.equal(new RetryAfterError(0.5).delayMs, 0.5);
});

test("a wait that was changed to no number does not keep a message for ever", async () => {
  const held = { policy: { retryDelay: { kind: "held" } } } as const;
  for (const delayMs of [NaN, 5n, "5", -1, Infinity]) {
    const transport = new ScriptedTransport({}, held);
    await withApp({ transport, maxAttempts: 3, deadLetter: true }, async ({ bq, clock }) => {
      bq.handle(URN, () => {
        throw Object.assign(new RetryAfterError(60_000), { delayMs });
      });
      transport.put("shop");
      const working = bq.consume({ waitMs: 0 });
      await clock.advance(0);
      await ended(working, clock);
      assert.deepEqual(transport.verdicts, ["retry"]);
    });
  }
});

test("a message about which no decision can be made is held a second, and goes back", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, maxAttempts: 1, deadLetter: true }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => assert.fail("no stock"));
    Object.assign(transport.policy, {
      deadLetterQueue: () => {
        throw new Error("no name");
      },
    });
    transport.put("shop");
    const running = bq.run();
    await clock.advance(999);
    assert.deepEqual(transport.verdicts, []);
    await clock.advance(1);
    assert.deepEqual(transport.verdicts, ["return"]);
    assert.match(seen.of("writeFailed")[0]!.error.message, /no name/);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a clock whose sleeps reject when they are aborted leaves no rejection behind", async () => {
  const rejections: unknown[] = [];
  const heard = (event: PromiseRejectionEvent): void => {
    event.preventDefault();
    rejections.push(event.reason);
  };
  const noted = (reason: unknown): void => void rejections.push(reason);
  const { process } = globalThis as unknown as {
    process?: { on(name: string, run: unknown): void; off(name: string, run: unknown): void };
  };
  globalThis.addEventListener?.("unhandledrejection", heard);
  process?.on("unhandledRejection", noted);
  const bq = new BabelQueue(memory(), {
    deadLetter: true,
    onEvent: () => {},
    clock: {
      ...systemClock,
      // As `setTimeout` of node:timers/promises does.
      async sleep(ms, signal) {
        await systemClock.sleep(ms, signal);
        signal?.throwIfAborted();
      },
    },
  });
  bq.handle(URN, () => {});
  await bq.publish(URN, {});
  assert.equal((await bq.consume({ waitMs: 5 })).handled, 1);
  await bq.close();
  await systemClock.sleep(10);
  globalThis.removeEventListener?.("unhandledrejection", heard);
  process?.off("unhandledRejection", noted);
  assert.deepEqual(rejections, []);
});

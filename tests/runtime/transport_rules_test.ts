import assert from "node:assert/strict";
import { BabelQueueError, ConnectionError, PublishUncertainError } from "@bq/core";
import {
  cannotOpen,
  failedOutcome,
  NO_HEADERS,
  notOpen,
  type PublishDelay,
  refuseDelays,
  uncertainOutcome,
  unlessAborted,
  within,
} from "@bq/core/transport";
import { fakeClock } from "@bq/core/testing";
import { test } from "../harness.ts";

const body = new Uint8Array();
const never = new Promise<string>(() => {});

test("a transport says whether it is closed, open already or not open yet", () => {
  assert.deepEqual(
    [cannotOpen("Redis", true), cannotOpen("Redis", false)].map(({ code, message }) => [
      code,
      message,
    ]),
    [
      ["closed", "Cannot open the Redis transport: it is closed"],
      ["invalid_option", "Cannot open the Redis transport: it is open already"],
    ],
  );
  assert.deepEqual(
    [notOpen("count 'a'", "Kafka", true), notOpen("count 'a'", "Kafka", false)].map((
      { code, message },
    ) => [code, message]),
    [
      ["closed", "Cannot count 'a': the Kafka transport is closed"],
      ["closed", "Cannot count 'a': the Kafka transport is not open yet"],
    ],
  );
});

test("a delay is refused from the first one on that the broker cannot make", () => {
  const refused = (delay: PublishDelay, ...delaysMs: readonly number[]): string => {
    try {
      const messages = delaysMs.map((delayMs) => ({ body, delayMs }));
      refuseDelays("shop", [{ body }, ...messages], delay, (delayMs) => `no ${delayMs} here`);
    } catch (error) {
      assert.ok(error instanceof BabelQueueError);
      assert.equal(error.code, "unsupported");
      return error.message;
    }
    return "";
  };
  assert.equal(refused({ kind: "none" }, 0), "");
  assert.equal(refused({ kind: "none" }, 0, 7, 9), "Cannot publish to 'shop': no 7 here");
  assert.equal(refused({ kind: "native" }, 1e12), "");
  assert.equal(refused({ kind: "native", maxMs: 50 }, 50), "");
  const beyond = "Cannot publish to 'shop': delay 51 ms exceeds the maximum of 50 ms";
  assert.equal(refused({ kind: "native", maxMs: 50 }, 51), beyond);
  assert.equal(refused({ kind: "tiers", tiersMs: [10, 50] }, 50, 51), beyond);
  assert.equal(refused({ kind: "tiers", tiersMs: [] }, 1), "Cannot publish to 'shop': no 1 here");
});

test("an outcome keeps its cause and gives the cause's words unless others are given", () => {
  const cause = new ConnectionError("gone");
  const failed = failedOutcome("publish to 'a'", cause);
  assert.ok(failed.status === "failed" && failed.error instanceof BabelQueueError);
  assert.equal(failed.error.code, "publish_failed");
  assert.equal(failed.error.message, "Cannot publish to 'a': gone");
  assert.equal(failed.error.cause, cause);
  const uncertain = uncertainOutcome("publish to 'a'", cause, "it is late");
  assert.ok(uncertain.status === "uncertain");
  assert.ok(uncertain.error instanceof PublishUncertainError);
  assert.equal(uncertain.error.message, "Cannot confirm a publish to 'a': it is late");
  assert.equal(uncertain.error.cause, cause);
});

test("no headers are shared, frozen and without a prototype", () => {
  assert.equal(Object.getPrototypeOf(NO_HEADERS), null);
  assert.ok(Object.isFrozen(NO_HEADERS));
});

test("a wait gives what it waited for, or ends with the signal", async () => {
  const aborting = new AbortController();
  assert.equal(await unlessAborted(Promise.resolve("a"), aborting.signal, () => "b"), "a");
  assert.equal(await unlessAborted(Promise.resolve("a"), undefined, () => "b"), "a");
  await assert.rejects(unlessAborted(Promise.reject(new Error("c")), aborting.signal), /c/);
  const waiting = unlessAborted(never, aborting.signal, (reason) => reason);
  const reason = new Error("stop");
  aborting.abort(reason);
  assert.equal(await waiting, reason);
  assert.equal(await unlessAborted(never, aborting.signal, () => "b"), "b");
  await assert.rejects(unlessAborted(never, aborting.signal), reason);
});

test("what a wait was for may still reject when the wait is over", async () => {
  const late = Promise.withResolvers<string>();
  assert.equal(await unlessAborted(late.promise, AbortSignal.abort(), () => "b"), "b");
  late.reject(new Error("nobody listens"));
  await new Promise((resolve) => setTimeout(resolve));
});

test("work is told when its time is over, and by the other signal", async () => {
  const clock = fakeClock();
  const told = (over: AbortSignal): Promise<string> =>
    unlessAborted(never, over, () => `at ${clock.elapsed() - startMs}`);
  const startMs = clock.elapsed();
  const late = within(100, clock, undefined, told);
  await clock.advance(99);
  await clock.advance(1);
  assert.equal(await late, "at 100");
  const ending = new AbortController();
  const ended = within(100, clock, ending.signal, told);
  ending.abort();
  assert.equal(await ended, "at 100");
  assert.equal(await within(100, clock, ending.signal, told), "at 100");
});

test("work that has ended is told nothing, and its clock sleeps no longer", async () => {
  const clock = fakeClock();
  const ending = new AbortController();
  let signal: AbortSignal | undefined;
  const work = (over: AbortSignal): Promise<string> => {
    signal = over;
    return Promise.resolve("done");
  };
  assert.equal(await within(100, clock, ending.signal, work), "done");
  ending.abort();
  await clock.advance(200);
  assert.equal(signal?.aborted, false);
  await assert.rejects(within(100, clock, undefined, () => Promise.reject(new Error("no"))), /no/);
});

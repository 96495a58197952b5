/** What becomes of a client that is no member any more and does not say so, played by one that does as it is told. */

import assert from "node:assert/strict";
import { fakeClock } from "@bq/core/testing";
import { type ConsumerSetup, kafkajsClient, type KafkajsLike } from "@bq/kafka";
import { test } from "../harness.ts";

/** From the last sign of life to the end, in milliseconds. */
const LIMIT_MS = 70_000;

/** A member of a group whose client connects unless it is told not to, and says what the test says. */
function bench({ connects = true } = {}) {
  const clock = fakeClock();
  const listeners = new Map<string, Set<(event: { payload: unknown }) => void>>();
  const failures: string[] = [];
  let left = 0;
  const consumer = {
    connect: () => connects ? Promise.resolve() : new Promise<void>(() => {}),
    subscribe: () => Promise.resolve(),
    run: () => Promise.resolve(say("group_join", { memberId: "me", memberAssignment: {} })),
    disconnect: () => {
      left++;
      return connects ? Promise.resolve() : new Promise<void>(() => {});
    },
    on(event: string, listener: (event: { payload: unknown }) => void) {
      const all = listeners.get(event) ?? new Set();
      listeners.set(event, all.add(listener));
      return () => void all.delete(listener);
    },
  };
  function say(event: string, payload: unknown = {}): void {
    for (const listener of listeners.get(`consumer.${event}`) ?? []) listener({ payload });
  }
  const setup = {
    topics: ["orders"],
    sessionTimeoutMs: 30_000,
    rebalanceTimeoutMs: 60_000,
    clock,
    events: { assigned: () => [], failed: ({ message }: Error) => void failures.push(message) },
  } as unknown as ConsumerSetup;
  const kafka = { consumer: () => consumer } as unknown as KafkajsLike;
  const member = kafkajsClient(kafka).consumer(setup);
  return { clock, member, say, failures, left: () => left };
}

test("a client that is silent for as long as the group may let it wait, and ten seconds, is given up", async () => {
  const { clock, member, say, failures, left } = bench();
  await member.start();
  const apiName = "JoinGroup";
  for (const sign of ["network.request", "heartbeat", "group_join", "connect"]) {
    await clock.advance(LIMIT_MS - 1);
    say(sign, { apiName, memberId: "me", memberAssignment: {} });
  }
  assert.deepEqual([failures, left()], [[], 0]);
  for (const _ of Array(11)) {
    // Commits go on beside it.
    say("network.request", { apiName: "OffsetCommit" });
    await clock.advance(LIMIT_MS / 10);
  }
  assert.deepEqual([failures, left()], [[`the client hangs for ${LIMIT_MS} ms`], 1]);
});

test("a client whose fetch from one broker does not end is given up, whatever the others say", async () => {
  const { clock, member, say, failures } = bench();
  await member.start();
  const pass = async (times: number): Promise<void> => {
    for (const _ of Array(times)) {
      await clock.advance(LIMIT_MS / 10);
      say("heartbeat");
      say("fetch_start", { nodeId: 1 });
      say("fetch", { nodeId: 1 });
    }
  };
  say("fetch_start", { nodeId: 2 });
  await pass(10);
  // A fetch that was given up by a join is none that hangs.
  say("group_join", { memberId: "me", memberAssignment: {} });
  say("fetch_start", { nodeId: 2 });
  await pass(10);
  assert.deepEqual(failures, []);
  await pass(1);
  assert.equal(failures.length, 1);
});

test("a client that fetches on without a sign of life for its session is given up at once", async () => {
  const { clock, member, say, failures } = bench();
  await member.start();
  const fetch = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    say("fetch_start", { nodeId: 1 });
    say("fetch", { nodeId: 1 });
  };
  for (const _ of Array(4)) {
    await fetch(29_999);
    say("heartbeat");
  }
  await fetch(30_000);
  assert.deepEqual(failures, []);
  await fetch(1);
  await clock.advance(0);
  assert.match(failures.join(), /fetches on, .* session of 30000 ms/);
});

test("a process that was asleep for longer than that does not give its client up", async () => {
  const { clock, member, say, failures } = bench();
  const { sleep } = clock;
  // Every sleep takes a day, for which nobody could say anything.
  Object.assign(clock, { sleep: (_: number, signal?: AbortSignal) => sleep(86_400_000, signal) });
  await member.start();
  for (const _ of Array(10)) await clock.advance(86_400_000);
  say("heartbeat");
  for (const _ of Array(10)) await clock.advance(86_400_000);
  assert.deepEqual(failures, []);
  await member.stop();
});

test("a start that hangs fails, although the client can not be left either", async () => {
  const { clock, member, left } = bench({ connects: false });
  const started = assert.rejects(member.start(), /hangs for 70000 ms/);
  await clock.advance(LIMIT_MS);
  await clock.advance(LIMIT_MS);
  await started;
  assert(left() > 0);
});

test("a client that has left is not watched any more", async () => {
  const { clock, member, failures } = bench();
  await member.start();
  await member.stop();
  assert.equal(clock.pending, 0);
  await clock.advance(2 * LIMIT_MS);
  assert.deepEqual(failures, []);
});

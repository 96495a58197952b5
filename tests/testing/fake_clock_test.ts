import assert from "node:assert/strict";
import { fakeClock } from "@bq/core/testing";
import { test } from "../harness.ts";

test("fakeClock() stands still until it is moved", async () => {
  const clock = fakeClock(1_000);
  assert.equal(clock.now(), 1_000);
  let over = false;
  const sleeping = clock.sleep(10).then(() => over = true);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(over, false);
  assert.equal(clock.pending, 1);
  await clock.advance(9);
  assert.equal(over, false);
  await clock.advance(1);
  assert.equal(over, true);
  await sleeping;
  assert.equal(clock.now(), 1_010);
  assert.equal(clock.pending, 0);
});

test("fakeClock() ends sleeps in the order of falling due, each at its own time", async () => {
  const clock = fakeClock(0);
  const ended: [string, number][] = [];
  const sleep = (name: string, ms: number): Promise<unknown> =>
    clock.sleep(ms).then(() => ended.push([name, clock.now()]));
  void sleep("c", 30);
  void sleep("a", 10);
  void sleep("b", 20);
  void sleep("b2", 20);
  await clock.advance(100);
  assert.deepEqual(ended, [["a", 10], ["b", 20], ["b2", 20], ["c", 30]]);
  assert.equal(clock.now(), 100);
});

test("fakeClock() runs what a sleep sets off before the next one, sleeps included", async () => {
  const clock = fakeClock(0);
  const ended: [string, number][] = [];
  const loop = (async () => {
    for (let turn = 1; turn <= 3; turn++) {
      await clock.sleep(10);
      for (let job = 0; job < 100; job++) await Promise.resolve();
      ended.push([`turn ${turn}`, clock.now()]);
    }
  })();
  void clock.sleep(25).then(() => ended.push(["between", clock.now()]));
  await clock.advance(30);
  await loop;
  assert.deepEqual(ended, [["turn 1", 10], ["turn 2", 20], ["between", 25], ["turn 3", 30]]);
});

test("fakeClock() lets code begin its sleep before the time moves", async () => {
  const clock = fakeClock(0);
  const late = (async () => {
    for (let job = 0; job < 100; job++) await Promise.resolve();
    await clock.sleep(5);
    return clock.now();
  })();
  await clock.advance(5);
  assert.equal(await late, 5);
});

test("fakeClock().sleep() of nothing, and an aborted one, end without an advance", async () => {
  const clock = fakeClock(0);
  let sync = true;
  const ended = clock.sleep(0).then(() => sync);
  sync = false;
  assert.equal(await ended, false);
  await clock.sleep(-5);
  await clock.sleep(NaN);
  await clock.sleep(10, AbortSignal.abort());
  const abort = new AbortController();
  const sleeping = clock.sleep(10, abort.signal);
  assert.equal(clock.pending, 1);
  abort.abort();
  await sleeping;
  assert.equal(clock.pending, 0);
  assert.equal(clock.now(), 0);
});

test("fakeClock().advance() refuses what is no way forward", async () => {
  const clock = fakeClock();
  await assert.rejects(clock.advance(-1), RangeError);
  await assert.rejects(clock.advance(Infinity), /Cannot advance the clock by Infinity ms/);
  await clock.advance(0);
});

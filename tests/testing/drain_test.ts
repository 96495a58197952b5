import assert from "node:assert/strict";
import { BabelQueue, memory } from "@bq/core";
import { drain, fakeClock } from "@bq/core/testing";
import { test } from "../harness.ts";

const URN = "urn:babel:orders:created";

test("drain() handles what is there, does not wait, and gives the counts", async () => {
  const clock = fakeClock();
  const bq = new BabelQueue(memory(), { clock, deadLetter: true });
  const handled: unknown[] = [];
  bq.handle(URN, ({ n }) => {
    handled.push(n);
  });
  for (let n = 0; n < 3; n++) await bq.publish(URN, { n });
  await bq.publish(URN, { n: "later" }, { delayMs: 1 });
  assert.deepEqual(await drain(bq, { maxMessages: 2 }), {
    handled: 2,
    failed: 0,
    retried: 0,
    deadLettered: 0,
    dropped: 0,
  });
  // The clock stands still: a wait would never end.
  assert.equal((await drain(bq)).handled, 1);
  assert.deepEqual(handled, [0, 1, 2]);
  await bq.close();
});

test("drain() throws what a handler threw, as it is", async () => {
  const bq = new BabelQueue(memory(), { maxAttempts: 1, deadLetter: true });
  const failure = { not: "even an Error" };
  bq.handle(URN, () => {
    throw failure;
  });
  await bq.publish(URN, {});
  await assert.rejects(drain(bq), (thrown) => thrown === failure);
  await bq.close();
});

test("drain() throws everything that handlers threw, and has handled the rest", async () => {
  const bq = new BabelQueue(memory(), { maxAttempts: 2, deadLetter: true });
  let handled = 0;
  bq.handle(URN, ({ n }, ctx) => {
    if (n === 0) throw new Error(`attempt ${ctx.attempt}`);
    handled++;
  });
  for (let n = 0; n < 3; n++) await bq.publish(URN, { n });
  await assert.rejects(drain(bq), (thrown) => {
    assert(thrown instanceof AggregateError);
    assert.deepEqual(thrown.errors.map(({ message }) => message), ["attempt 1", "attempt 2"]);
    return true;
  });
  assert.equal(handled, 2);
  await bq.close();
});

test("drain() works on the queue it is given, and throws nothing of another one", async () => {
  const bq = new BabelQueue(memory(), { maxAttempts: 1, deadLetter: true });
  bq.handle(URN, ({ n }) => {
    if (n === 1) throw new Error("of the other queue");
  });
  await bq.publish(URN, { n: 0 }, { queue: "one" });
  await bq.publish(URN, { n: 1 }, { queue: "two" });
  const other = bq.consume({ queue: "two", waitMs: 0 });
  assert.equal((await drain(bq, { queue: "one" })).handled, 1);
  assert.equal((await other).failed, 1);
  await bq.close();
});

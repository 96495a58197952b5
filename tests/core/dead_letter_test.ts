import assert from "node:assert/strict";
import fc from "fast-check";
import { EnvelopeCodec } from "../../core/codec.ts";
import { annotate, deadLetterBlock } from "../../core/dead_letter.ts";
import { test } from "../harness.ts";

const MEMBERS = ["reason", "error", "exception", "failed_at", "original_queue", "attempts", "lang"];

function blockOf(error: unknown, attempts = 3) {
  return deadLetterBlock({
    reason: "failed",
    error,
    originalQueue: "orders",
    attempts,
    failedAtMs: 1760000005000,
  });
}

test("annotate() appends the block to a copy and leaves the envelope alone", () => {
  const envelope = EnvelopeCodec.make("urn:babel:a:b", { id: 7 }, { now: 1 });
  const frozen = JSON.stringify(envelope);
  const record = annotate(envelope, "failed", "orders", {
    attempts: 3,
    error: "no stock",
    exception: "StockError",
    failedAtMs: 1760000005000,
  });
  assert.deepEqual(Object.keys(record), [
    "job",
    "trace_id",
    "data",
    "meta",
    "attempts",
    "dead_letter",
  ]);
  assert.deepEqual(Object.keys(record.dead_letter), MEMBERS);
  assert.deepEqual(record.dead_letter, {
    reason: "failed",
    error: "no stock",
    exception: "StockError",
    failed_at: 1760000005000,
    original_queue: "orders",
    attempts: 3,
    lang: "node",
  });
  assert.equal(record.attempts, 0);
  assert.equal(record.data, envelope.data);
  assert.equal(JSON.stringify(envelope), frozen);
});

test("annotate() replaces a block and moves it to the end", () => {
  const envelope = { dead_letter: { reason: "old" }, job: "u", attempts: 4, x: 1 };
  const record = annotate(envelope, "unknown_urn", "q", { failedAtMs: 5 });
  assert.deepEqual(Object.keys(record), ["job", "attempts", "x", "dead_letter"]);
  assert.deepEqual(record.dead_letter, {
    reason: "unknown_urn",
    error: null,
    exception: null,
    failed_at: 5,
    original_queue: "q",
    attempts: 4,
    lang: "node",
  });
  assert.equal(annotate({ job: "u" }, "failed", "q").dead_letter.attempts, 0);
  assert.equal(annotate({ attempts: -2 }, "failed", "q").dead_letter.attempts, 0);
});

test("annotate() leaves the envelope alone, one that has a block already too", () => {
  const given = {
    job: "u",
    data: Object.freeze({ id: 7 }),
    dead_letter: Object.freeze({ reason: "old", attempts: 1 }),
    attempts: 4,
  };
  const before = JSON.stringify(given);
  const record = annotate(given, "failed", "q", { attempts: 5, failedAtMs: 5 });
  assert.equal(JSON.stringify(given), before);
  assert.notEqual(record.dead_letter, given.dead_letter);
  assert.equal(record.dead_letter.reason, "failed");
  assert.doesNotThrow(() => annotate(Object.freeze(given), "failed", "q"));
});

test("annotate() takes the time from the clock when none is given", () => {
  const before = Date.now();
  const at = annotate({}, "failed", "q").dead_letter.failed_at;
  assert(Number.isInteger(at) && at >= before && at <= Date.now());
});

test("deadLetterBlock() describes an error by its message and the name of its type", () => {
  class OrderError extends Error {
    override name = "OrderError";
  }
  class Unnamed extends Error {}
  const facts = (error: unknown): unknown[] => [blockOf(error).error, blockOf(error).exception];
  assert.deepEqual(facts(new OrderError("no stock")), ["no stock", "OrderError"]);
  assert.deepEqual(facts(new TypeError("bad")), ["bad", "TypeError"]);
  assert.deepEqual(facts(new Unnamed("x")), ["x", "Error"]);
  assert.deepEqual(facts(new Error("")), ["", "Error"]);
  assert.deepEqual(facts({ message: "like an error", name: "Odd" }), ["like an error", "Odd"]);
});

test("deadLetterBlock() describes whatever else was thrown", () => {
  const facts = (error: unknown): unknown[] => [blockOf(error).error, blockOf(error).exception];
  assert.deepEqual(facts(null), [null, null]);
  assert.deepEqual(facts(undefined), ["undefined", "undefined"]);
  assert.deepEqual(facts("boom"), ["boom", "string"]);
  assert.deepEqual(facts(7), ["7", "number"]);
  assert.deepEqual(facts(7n), ["7", "bigint"]);
  assert.deepEqual(facts(Symbol("s")), ["Symbol(s)", "symbol"]);
  assert.deepEqual(facts({}), ["[object Object]", "Object"]);
  assert.deepEqual(facts([1, 2]), ["1,2", "Array"]);
});

test("deadLetterBlock() survives objects that fight back", () => {
  const throwing = (): never => {
    throw new Error("from a getter");
  };
  const hostile = [
    Object.create(null),
    { toString: throwing },
    {
      get message(): string {
        return throwing();
      },
    },
    {
      get name(): string {
        return throwing();
      },
      message: "m",
    },
    {
      get [Symbol.toStringTag](): string {
        return throwing();
      },
      toString: throwing,
    },
    new Proxy({}, { get: throwing, getPrototypeOf: throwing, has: throwing }),
    { message: 7, name: 8, constructor: null },
    { toString: () => ({}) },
  ];
  for (const thrown of hostile) {
    const block = blockOf(thrown);
    assert.equal(typeof block.error, "string");
    assert.equal(typeof block.exception, "string");
    JSON.stringify(block);
  }
});

test("deadLetterBlock() is well-formed text, keeps its order and saturates the count", () => {
  const block = blockOf(new Error("half \ud83d"), 2 ** 60);
  assert.equal(block.error, "half \ufffd");
  assert.equal(block.attempts, Number.MAX_SAFE_INTEGER);
  assert.deepEqual(Object.keys(block), MEMBERS);
  assert.equal(blockOf(null, -1).attempts, 0);
});

test("deadLetterBlock() never throws", () => {
  fc.assert(fc.property(fc.anything(), (thrown) => {
    const { error, exception } = blockOf(thrown);
    assert.equal(error === null, thrown === null);
    assert.equal(exception === null, thrown === null);
  }));
});

test("annotate() refuses what is no envelope, and describes whatever error it is given", () => {
  for (const odd of [null, undefined, 5, "text", []]) {
    assert.throws(() => annotate(odd as never, "failed", "shop"), { code: "invalid_envelope" });
  }
  const rows: readonly (readonly [error: unknown, text: string | null])[] = [
    [null, null],
    [undefined, null],
    ["no stock", "no stock"],
    [new Error("no stock"), "no stock"],
    [{}, "[object Object]"],
    [5n, "5"],
  ];
  for (const [error, text] of rows) {
    const { dead_letter } = annotate({}, "failed", "shop", { error: error as string });
    assert.equal(dead_letter.error, text);
  }
});

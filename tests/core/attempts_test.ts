import assert from "node:assert/strict";
import fc from "fast-check";
import {
  artemisCounting,
  type Counting,
  kafkaCounting,
  LARGEST_ATTEMPTS,
  pulsarCounting,
  reconcile,
  saturate,
  serviceBusCounting,
  sqsCounting,
} from "../../core/attempts.ts";
import { test } from "../harness.ts";

const encoder = new TextEncoder();

function table(rows: readonly (readonly [body: number | null, counting: Counting, is: number])[]) {
  for (const [body, counting, expected] of rows) {
    assert.equal(reconcile(body, counting), expected, JSON.stringify([body, counting]));
  }
}

test("reconcile() gives 0 for a first delivery and the body's count without a broker's", () => {
  table([[0, {}, 0], [3, {}, 3], [null, {}, 0]]);
});

test("SQS: the receive count less one is a floor, and no number is ignored", () => {
  table([
    [0, sqsCounting("1"), 0],
    [0, sqsCounting("3"), 2],
    [2, sqsCounting("5"), 4],
    [5, sqsCounting("1"), 5],
    [4, sqsCounting("not-a-number"), 4],
    [3, sqsCounting(undefined), 3],
    [3, sqsCounting(null), 3],
    [0, sqsCounting("+3"), 2],
    [0, sqsCounting("-3"), 0],
    [0, sqsCounting(" 3"), 0],
    [0, sqsCounting("3x"), 0],
    [0, sqsCounting("3.0"), 0],
    [0, sqsCounting("0x3"), 0],
    [0, sqsCounting("1e3"), 0],
    [0, sqsCounting(""), 0],
    [0, sqsCounting(4), 3],
  ]);
});

test("Service Bus: the delivery count less one is a floor", () => {
  table([
    [0, serviceBusCounting(1), 0],
    [0, serviceBusCounting(3), 2],
    [2, serviceBusCounting(5), 4],
    [5, serviceBusCounting(2), 5],
    [4, serviceBusCounting(1), 4],
    [3, serviceBusCounting(0), 3],
    [3, serviceBusCounting(undefined), 3],
    [3, serviceBusCounting(Number.NaN), 3],
    [0, serviceBusCounting(2.5), 0],
  ]);
});

test("Pulsar: a valid property replaces the body's count, the redelivery count is a floor", () => {
  table([
    [0, pulsarCounting(undefined, 0), 0],
    [0, pulsarCounting(undefined, 2), 2],
    [2, pulsarCounting(undefined, 5), 5],
    [5, pulsarCounting(undefined, 1), 5],
    [4, pulsarCounting(undefined, 0), 4],
    [3, pulsarCounting(undefined, 3), 3],
    [4, pulsarCounting("1", 0), 1],
    [4, pulsarCounting("1", 3), 3],
    [4, pulsarCounting("0", 0), 0],
    [4, pulsarCounting("2147483647", 0), 2147483647],
    [4, pulsarCounting("2147483648", 0), 4],
    [4, pulsarCounting("+1", 0), 4],
    [4, pulsarCounting("-1", 0), 4],
    [4, pulsarCounting("", 0), 4],
    [4, pulsarCounting("1 ", 0), 4],
    [4, pulsarCounting("\u0661", 0), 4],
    [4, pulsarCounting(null, 0), 4],
  ]);
});

test("Kafka: a valid header replaces the body's count, also when it is lower", () => {
  table([
    [0, kafkaCounting("0"), 0],
    [0, kafkaCounting("2"), 2],
    [3, kafkaCounting(undefined), 3],
    [3, kafkaCounting(null), 3],
    [5, kafkaCounting("1"), 1],
    [1, kafkaCounting("4"), 4],
    [5, kafkaCounting("-4"), 0],
    [5, kafkaCounting("+4"), 4],
    [5, kafkaCounting("four"), 5],
    [5, kafkaCounting(""), 5],
    [5, kafkaCounting(encoder.encode("7")), 7],
    [5, kafkaCounting(encoder.encode("7 ")), 5],
    [5, kafkaCounting(encoder.encode("\u0667")), 5],
    [5, kafkaCounting(encoder.encode("7".padStart(64, "0"))), 7],
    [5, kafkaCounting(encoder.encode("7".padStart(65, "0"))), 5],
    [5, kafkaCounting(new Uint8Array(100_000).fill(0x31)), 5],
  ]);
});

test("Artemis: the delivery count is a floor without a subtraction", () => {
  table([
    [0, artemisCounting(0), 0],
    [0, artemisCounting(2), 2],
    [2, artemisCounting(5), 5],
    [5, artemisCounting(1), 5],
    [4, artemisCounting(0), 4],
    [3, artemisCounting(3), 3],
    [0, artemisCounting(2n), 2],
    [3, artemisCounting(undefined), 3],
  ]);
});

test("counts stay between 0 and 2^53-1", () => {
  assert.equal(LARGEST_ATTEMPTS, 2 ** 53 - 1);
  assert.equal(saturate(-1), 0);
  assert.equal(saturate(Number.NaN), 0);
  assert.equal(saturate(Infinity), LARGEST_ATTEMPTS);
  assert.equal(saturate(2 ** 63), LARGEST_ATTEMPTS);
  assert.equal(saturate(2.9), 2);
  table([
    [-4, {}, 0],
    [2 ** 60, {}, LARGEST_ATTEMPTS],
    [0, { floor: 2 ** 60 }, LARGEST_ATTEMPTS],
    [0, { replaces: -2 }, 0],
    [0, sqsCounting("99999999999999999999"), LARGEST_ATTEMPTS],
    [0, kafkaCounting("99999999999999999999"), LARGEST_ATTEMPTS],
  ]);
});

test("a count kept beside the body stands in for one that cannot be read", () => {
  table([[null, { beside: 2 }, 2], [1, { beside: 2 }, 1], [null, { beside: 2, floor: 5 }, 5]]);
});

test("reconcile() never lowers a count but by a replacement", () => {
  const count = fc.integer({ min: -5, max: 20 });
  fc.assert(fc.property(count, count, (body, floor) => {
    const result = reconcile(body, { floor });
    assert(result >= body && result >= floor && result >= 0);
    assert([body, floor, 0].includes(result));
  }));
});

/** Worked cases on combining the count in the body with the broker's. */

import assert from "node:assert/strict";
import {
  artemisCounting,
  kafkaCounting,
  pulsarCounting,
  reconcile,
  serviceBusCounting,
  sqsCounting,
} from "../../core/attempts.ts";
import { test } from "../harness.ts";
import { bytes } from "./_decisions.ts";

test("V309 RabbitMQ: the body's count decides, whatever is counted beside it", () => {
  assert.equal(reconcile(1, { beside: 4 }), 1);
});

test("V405 SQS: the receive count is a floor", () => {
  const rows: [number, unknown, number][] = [
    [0, "1", 0],
    [0, "3", 2],
    [2, "5", 4],
    [5, "1", 5],
    [4, "not-a-number", 4],
    [3, undefined, 3],
    [0, "0", 0],
  ];
  for (const [body, count, expected] of rows) {
    assert.equal(reconcile(body, sqsCounting(count)), expected, `(${body}, ${String(count)})`);
  }
});

test("V505 Service Bus: the delivery count is a floor", () => {
  const rows = [[0, 1, 0], [0, 3, 2], [2, 5, 4], [5, 2, 5], [4, 1, 4], [3, 0, 3]] as const;
  for (const [body, count, expected] of rows) {
    assert.equal(reconcile(body, serviceBusCounting(count)), expected, `(${body}, ${count})`);
  }
});

test("V603 Pulsar: a valid property replaces the body, the redelivery count is a floor", () => {
  const plain = [[0, 0, 0], [0, 2, 2], [2, 5, 5], [5, 1, 5], [4, 0, 4], [3, 3, 3]] as const;
  for (const [body, count, expected] of plain) {
    assert.equal(
      reconcile(body, pulsarCounting(undefined, count)),
      expected,
      `(${body}, ${count})`,
    );
  }
  const rows: [number, string, number, number][] = [
    [4, "1", 0, 1],
    [4, "1", 3, 3],
    [0, "6", 2, 6],
    [2, "x", 0, 2],
    [2, " 1", 0, 2],
    [2, "-1", 0, 2],
    [2, "2147483648", 0, 2],
    [2, "2147483647", 0, 2147483647],
  ];
  for (const [body, property, count, expected] of rows) {
    assert.equal(reconcile(body, pulsarCounting(property, count)), expected, `${body} ${property}`);
  }
});

test("V702 Kafka: the header replaces the body, also when it is lower", () => {
  const rows: [number, unknown, number][] = [
    [0, "0", 0],
    [0, "2", 2],
    [3, undefined, 3],
    [5, "1", 1],
    [1, "4", 4],
    [2, "abc", 2],
    [2, "", 2],
  ];
  for (const [body, header, expected] of rows) {
    assert.equal(reconcile(body, kafkaCounting(header)), expected, `(${body}, ${String(header)})`);
    const raw = typeof header === "string" ? bytes(header) : header;
    assert.equal(reconcile(body, kafkaCounting(raw)), expected, `(${body}, bytes)`);
  }
});

test("V803 Artemis: the delivery count is a floor without a subtraction", () => {
  const rows = [[0, 0, 0], [0, 2, 2], [2, 5, 5], [5, 1, 5], [4, 0, 4], [3, 3, 3]] as const;
  for (const [body, count, expected] of rows) {
    assert.equal(reconcile(body, artemisCounting(count)), expected, `(${body}, ${count})`);
  }
});

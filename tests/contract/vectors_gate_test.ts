/** Worked cases on headers and the version gate. */

import assert from "node:assert/strict";
import { versionGate } from "../../core/gate.ts";
import { mergeHeaders, sanitizeHeaders } from "../../core/headers.ts";
import { readEnvelope } from "../../core/reading.ts";
import { test } from "../harness.ts";
import { bytes } from "./_decisions.ts";
import { b0, BOOM, decideOn, META, poisonDeadLetter, recordOf, TP, U } from "./_vectors.ts";

const entries = (headers: object): [string, unknown][] => Object.entries(headers).sort();

test("V001 a contract slot beats a rider, and blank riders are dropped", () => {
  const riders = { "": "x", a: "", traceparent: TP, "bq-job": "evil" };
  assert.deepEqual(entries(mergeHeaders(riders, { "bq-job": U })), [
    ["bq-job", U],
    ["traceparent", TP],
  ]);
  assert.deepEqual(entries(sanitizeHeaders(riders)), [["bq-job", "evil"], ["traceparent", TP]]);
});

test("V002 nothing is left of blank riders", () => {
  assert.deepEqual(entries(sanitizeHeaders({ a: "" })), []);
  assert.deepEqual(entries(mergeHeaders({ a: "" }, {})), []);
});

test("V003 the version gate compares exactly and knows six blank characters", () => {
  for (const slot of [undefined, "", " ", "\t\n\v\f\r ", "1"]) {
    assert.equal(versionGate(slot), "pass", JSON.stringify(slot));
  }
  const gated = [
    "2",
    "0",
    " 1",
    "1 ",
    "01",
    "+1",
    "1.0",
    "x",
    "\u00a0",
    "\u0085",
    "\ufeff",
    "\u001c",
  ];
  for (const slot of gated) assert.equal(versionGate(slot), "gated", JSON.stringify(slot));
});

test("V004 a typed slot passes for the integer 1 only", () => {
  for (const slot of [null, 1, 1n, 1.0]) assert.equal(versionGate(slot), "pass", String(slot));
  for (const slot of [2, -1, true, bytes("1"), new Date(1), 1.5, [1], {}]) {
    assert.equal(versionGate(slot), "gated", String(slot));
  }
});

test("V005 behind a passed gate another body version is poison, not gated", () => {
  const body = b0({ meta: META.replace('"schema_version":1', '"schema_version":2') });
  assert.equal(versionGate("1"), "pass");
  const verdict = readEnvelope(body).verdict();
  assert.deepEqual([verdict.verdict, verdict.versionSupported], ["ok", false]);
  const poison = { kind: "poison", cause: "CAUSE" } as const;
  const record = recordOf(decideOn("sqs", poison, { deadLetter: true }, { body }));
  assert.equal(record.reason, "poison");
  assert.equal(record.text, `${body.slice(0, -1)},${poisonDeadLetter()}}`);
});

const GATED = { kind: "gated", version: "2" } as const;
const GATING = ["sqs", "service bus", "pulsar shared", "pulsar exclusive", "kafka", "artemis"];

test("V006 the gate comes first: an undecodable gated body reaches the queue unwrapped", () => {
  for (const broker of GATING) {
    const verdict = decideOn(broker, GATED, { deadLetter: true }, { body: "not json" });
    const { text, reason } = recordOf(verdict);
    assert.deepEqual([text, reason], ["not json", "gated"], broker);
  }
});

test("V038 strategy dead_letter writes a gated body although dead-lettering is off", () => {
  const after: [string, string][] = [
    ["sqs", "leave"],
    ["service bus", "return"],
    ["pulsar shared", "return"],
    ["artemis", "return"],
  ];
  for (const [broker, settled] of after) {
    const set = { deadLetter: false, onUnknownUrn: "dead_letter" } as const;
    const record = recordOf(decideOn(broker, GATED, set, { body: " \tnot json" }));
    assert.equal(record.text, " \tnot json", broker);
    assert.equal(decideOn(broker, { kind: "writeFailed" }, set).kind, settled, broker);
  }
});

test("V412 SQS, gated: raw record, left alone, or deleted, and the body is never read", () => {
  const body = new Proxy(bytes("\u0000"), {
    get: () => assert.fail("the body was read"),
  });
  const on = decideOn("sqs", GATED, { deadLetter: true }, { body });
  assert.ok(on.kind === "deadLetter" && on.record === body);
  assert.equal(on.queue, "shop-dlq");
  assert.equal(decideOn("sqs", GATED, {}, { body }).kind, "leave");
  assert.equal(decideOn("sqs", GATED, { onUnknownUrn: "delete" }, { body }).kind, "ack");
});

test("V508 Service Bus, gated: raw record, natively dead-lettered, or completed", () => {
  const { text, queue } = recordOf(decideOn("service bus", GATED, { deadLetter: true }));
  assert.deepEqual([text, queue], [b0({}), "shop.dlq"]);
  const off = decideOn("service bus", GATED);
  assert.ok(off.kind === "deadLetterNatively");
  assert.equal(off.reason, "unsupported schema version");
  assert.equal(decideOn("service bus", GATED, { onUnknownUrn: "delete" }).kind, "ack");
  assert.equal(decideOn("service bus", { kind: "writeFailed" }).kind, "return");
});

test("V610 Pulsar, gated: no counter and no cap changes the outcome", () => {
  for (const [reconciled, maxAttempts] of [[0, 3], [9, 3], [0, 1]] as const) {
    const kinds = (set: Parameters<typeof decideOn>[2]): string =>
      decideOn("pulsar shared", GATED, { ...set, maxAttempts }, { reconciled }).kind;
    assert.equal(kinds({ onUnknownUrn: "delete" }), "ack");
    assert.equal(kinds({ onUnknownUrn: "fail" }), "ack");
    assert.equal(kinds({ onUnknownUrn: "dead_letter" }), "deadLetter");
    assert.equal(kinds({ deadLetter: true }), "deadLetter");
  }
  assert.equal(decideOn("pulsar shared", { kind: "writeFailed" }).kind, "return");
});

test("V715 Kafka, gated: raw record, dropped, or uncommitted after a failed write", () => {
  const { text, queue } = recordOf(decideOn("kafka", GATED, { deadLetter: true }));
  assert.deepEqual([text, queue], [b0({}), "shop.dlq"]);
  assert.equal(decideOn("kafka", GATED).kind, "ack");
  assert.equal(decideOn("kafka", { kind: "writeFailed" }).kind, "return");
  assert.equal(versionGate(null), "pass");
});

test("V307 RabbitMQ has no gate: a body of another version is poison", () => {
  const body = b0({ meta: META.replace('"schema_version":1', '"schema_version":2') });
  assert.equal(readEnvelope(body).verdict().versionSupported, false);
  const verdict = decideOn("rabbitmq", { kind: "poison", cause: "CAUSE" }, { deadLetter: true }, {
    body,
  });
  assert.equal(recordOf(verdict).reason, "poison");
  assert.notEqual(decideOn("rabbitmq", BOOM).kind, "ack");
});

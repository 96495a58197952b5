/**
 * How a delivery is settled: the sections `pulsar_exhaustion` and `version_gate_*`, run on the
 * library's decision function.
 *
 * @module
 */

import assert from "node:assert/strict";
import { versionGate } from "../../../../core/gate.ts";
import { settleOutcome } from "../../settle_outcome.ts";
import { isRecord, type JsonRecord, list, member, number, record, text } from "../json.ts";
import type { CaseCheck } from "../run.ts";

type Question = Parameters<typeof settleOutcome>[0];
type Broker = Question["broker"];

/** Options of a case that are left out when it does not name them. */
function optionsOf(value: JsonRecord): Partial<Question> {
  const strategy = member(value, "on_unknown_urn");
  const property = member(value, "bq_attempts");
  return {
    ...(strategy === undefined ? {} : { onUnknownUrn: strategyOf(strategy) }),
    ...(property === undefined ? {} : { bqAttempts: String(property) }),
  };
}

function strategyOf(value: unknown): "fail" | "delete" | "release" | "dead_letter" {
  assert.ok(
    value === "fail" || value === "delete" || value === "release" || value === "dead_letter",
    `unknown strategy '${String(value)}'`,
  );
  return value;
}

const BODY = new TextEncoder().encode(
  '{"job":"urn:babel:shop:paid","trace_id":"t","data":{},"meta":{"id":"i","queue":"shop",' +
    '"lang":"go","schema_version":1,"created_at":1},"attempts":0}',
);

/** Section `pulsar_exhaustion`; a writer exists, so `outcome_no_writer` is never read. Contract: P10, P11, P14, P15. */
export const checkPulsarExhaustion: CaseCheck = ({ value }) => {
  const kind = text(value, "kind");
  assert.ok(kind === "failed" || kind === "unknown_urn" || kind === "poison", `kind '${kind}'`);
  const deadLetter = member(value, "dead_letter");
  assert.ok(typeof deadLetter === "boolean", "dead_letter is no boolean");
  const cap = member(value, "max_attempts");
  const settled = settleOutcome({
    broker: "pulsar",
    kind,
    ...(kind === "poison" ? {} : { bodyAttempts: number(value, "body_attempts"), body: BODY }),
    redeliveryCount: number(value, "redelivery_count"),
    ...(cap === undefined ? {} : { maxAttempts: number(value, "max_attempts") }),
    deadLetter,
    ...optionsOf(value),
  });
  const expected = record(value, "expect");
  assert.equal(settled.outcome, text(expected, "outcome"), "the outcome");
  const reason = member(expected, "reason");
  if (reason !== undefined) assert.equal(settled.reason, reason, "the reason");
  const attempts = member(expected, "dead_letter_attempts");
  if (attempts !== undefined) assert.equal(settled.deadLetterAttempts, attempts, "the attempts");
  if (settled.outcome === "dlq") assertRecord(settled.record, reason, attempts);
};

function assertRecord(bytes: Uint8Array | undefined, reason: unknown, attempts: unknown): void {
  assert.ok(bytes !== undefined, "no record");
  const written: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  assert.ok(isRecord(written), "the record is no object");
  const block = record(written, "dead_letter");
  assert.equal(block["reason"], reason, "dead_letter.reason of the record");
  if (attempts === undefined) return;
  assert.equal(block["attempts"], attempts, "dead_letter.attempts of the record");
  assert.equal(written["attempts"], attempts, "attempts of the record");
}

/** A section `version_gate_*`. Contract: G24, G25, G30–G33. */
export function checkVersionGate(broker: Broker): CaseCheck {
  return ({ value, parent }) => {
    assert.equal(versionGate("2"), "gated", "the delivery is not gated");
    const expected = record(value, "expect");
    const bodies = list(parent, "incoming_bodies");
    assert.ok(bodies.length > 0, "there is no incoming body");
    for (const incoming of bodies) {
      assert.ok(isRecord(incoming), "an incoming body is no object");
      const body = new TextEncoder().encode(text(incoming, "body"));
      for (const counters of [{}, { redeliveryCount: 9, maxAttempts: 1 }]) {
        const settled = settleOutcome({
          broker,
          kind: "gated",
          deadLetter: isOn(text(value, "dead_letter")),
          ...writeOf(value),
          body,
          ...counters,
          ...optionsOf(value),
        });
        assert.equal(settled.outcome, text(expected, "outcome"), "the outcome");
        if (settled.outcome !== "dlq_raw") continue;
        assert.equal(expected["record"], "incoming_body", "a record that the runner does not know");
        assert.deepEqual(settled.record, body, "the record differs from the incoming body");
      }
    }
  };
}

function isOn(value: string): boolean {
  assert.ok(value === "on" || value === "off", `unknown dead_letter '${value}'`);
  return value === "on";
}

function writeOf(value: JsonRecord): Partial<Question> {
  const write = member(value, "dlq_write") ?? "ok";
  assert.ok(write === "ok" || write === "fails", `unknown dlq_write '${String(write)}'`);
  return { dlqWrite: write };
}

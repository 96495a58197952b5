/**
 * What every broker's binding shares: the blocks `attempts_reconciliation` and `schema_version_gate`,
 * and the section `retry_backoff`.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  artemisCounting,
  kafkaCounting,
  pulsarCounting,
  reconcile,
  serviceBusCounting,
  sqsCounting,
} from "../../../../core/attempts.ts";
import { versionGate } from "../../../../core/gate.ts";
import { readEnvelope } from "../../../../core/reading.ts";
import { backoffMs } from "../../../../runtime/retry.ts";
import { isRecord, type JsonRecord, member, number, record, text } from "../json.ts";
import { type CaseCheck, SkippedCase } from "../run.ts";

type Counting = Parameters<typeof reconcile>[1];

/** A block `attempts_reconciliation`. Contract: S11, A11, P10, K12, X10. */
function checkReconciliation(counting: (value: JsonRecord) => Counting): CaseCheck {
  return ({ value }) => {
    const attempts = reconcile(number(value, "body_attempts"), counting(value));
    assert.equal(attempts, number(value, "expected_attempts"), "the reconciled attempts");
  };
}

/** Absent stays absent; a number stands for the decimal text that a header or attribute carries. */
function slot(value: JsonRecord, name: string): string | undefined {
  const found = member(value, name);
  return found === null || found === undefined ? undefined : String(found);
}

function count(value: JsonRecord, name: string): number | undefined {
  const found = member(value, name);
  return typeof found === "number" ? found : undefined;
}

/** The reconciliation of each binding that counts. */
export const checkSqsAttempts: CaseCheck = checkReconciliation((value) =>
  sqsCounting(slot(value, "approximate_receive_count"))
);
/** See {@linkcode checkSqsAttempts}. */
export const checkServiceBusAttempts: CaseCheck = checkReconciliation((value) =>
  serviceBusCounting(count(value, "delivery_count"))
);
/** See {@linkcode checkSqsAttempts}. */
export const checkPulsarAttempts: CaseCheck = checkReconciliation((value) =>
  pulsarCounting(slot(value, "bq_attempts"), count(value, "redelivery_count"))
);
/** See {@linkcode checkSqsAttempts}. */
export const checkKafkaAttempts: CaseCheck = checkReconciliation((value) =>
  kafkaCounting(slot(value, "header_attempts"))
);
/** See {@linkcode checkSqsAttempts}. */
export const checkArtemisAttempts: CaseCheck = checkReconciliation((value) =>
  artemisCounting(count(value, "delivery_count"))
);

/** A block `schema_version_gate`. Contract: G22, C76–C78. */
export const checkGate: CaseCheck = ({ value, parent }, suite) => {
  const body = readEnvelope(suite.read(text(parent, "fixture"))).verdict();
  assert.equal(body.verdict, "ok", "the body of every case has to be valid");
  assert.ok(body.versionSupported, "the body of every case has to be valid");
  if (value["value_type"] === "float" && Number.isInteger(value["value"])) {
    throw new SkippedCase("ADR-0037", "JavaScript has one number type: 1.0 arrives as 1");
  }
  const expected = text(value, "expect");
  assert.ok(expected === "decode" || expected === "reject", `unknown expectation '${expected}'`);
  const verdict = expected === "decode" ? "pass" : "gated";
  for (const native of natives(value)) {
    assert.equal(versionGate(native), verdict, `the gate on ${typeof native} ${String(native)}`);
  }
};

/** The forms in which a client may hand over the value: an integer comes in either width. */
function natives(value: JsonRecord): readonly unknown[] {
  if (value["absent"] === true) return [undefined];
  const native = member(value, "value");
  return Number.isInteger(native) ? [native, BigInt(native as number)] : [native];
}

/** Section `retry_backoff`. Contract: G46, C157–C159. */
export const checkBackoff: CaseCheck = ({ value }) => {
  const jitter = text(value, "retry_jitter");
  assert.ok(jitter === "none" || jitter === "full", `unknown jitter '${jitter}'`);
  const retry = {
    baseMs: number(value, "retry_backoff") * 1000,
    multiplier: number(value, "retry_backoff_multiplier"),
    maxMs: number(value, "retry_backoff_max") * 1000,
    jitter,
  } as const;
  const range = member(value, "expect_delay_range_seconds");
  const expected = range === undefined
    ? { min: number(value, "expect_delay_seconds"), max: number(value, "expect_delay_seconds") }
    : record(value, "expect_delay_range_seconds");
  assert.ok(isRecord(expected));
  const min = number(expected, "min");
  const max = number(expected, "max");
  for (const random of [0, 0.25, 0.5, 0.999_999]) {
    const seconds = backoffMs(retry, number(value, "n"), random) / 1000;
    const slack = 1e-12 * max; // a factor in seconds and one in milliseconds round differently
    assert.ok(
      seconds >= min - slack && seconds <= max + slack,
      `${seconds} s, not ${min} to ${max} s`,
    );
  }
  if (jitter === "full" && max > 0) {
    assert.ok(backoffMs(retry, number(value, "n"), 0.999_999) > max * 999, "no jitter is drawn");
  }
};

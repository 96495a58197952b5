import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { backoffMs } from "../../runtime/retry.ts";
import type { UnknownUrnStrategy } from "../../runtime/options.ts";
import { environment, requireOrSkip, test } from "../harness.ts";
import { backoff, bytes } from "./_decisions.ts";
import { settleOutcome } from "./settle_outcome.ts";

const folder = environment("BQ_CONFORMANCE_DIR");
const manifestPath = folder === undefined ? undefined : `${folder}/manifest.json`;
const ignore = requireOrSkip(
  "the conformance suite",
  manifestPath !== undefined && existsSync(manifestPath),
  "BQ_CONFORMANCE_DIR names no folder with a manifest.json",
);

interface Case {
  readonly name: string;
  readonly kind: "failed" | "unknown_urn" | "poison";
  readonly body_attempts?: number;
  readonly bq_attempts?: string;
  readonly redelivery_count?: number;
  readonly max_attempts?: number;
  readonly dead_letter: boolean | "on" | "off";
  readonly on_unknown_urn?: UnknownUrnStrategy;
  readonly dlq_write?: "ok" | "fails";
  readonly expect: {
    readonly outcome: string;
    readonly reason?: string;
    readonly dead_letter_attempts?: number;
    readonly record?: "incoming_body";
  };
}

interface BackoffCase {
  readonly name: string;
  readonly retry_backoff: number;
  readonly retry_backoff_multiplier: number;
  readonly retry_backoff_max: number;
  readonly retry_jitter: "none" | "full";
  readonly n: number;
  readonly expect_delay_seconds?: number;
  readonly expect_delay_range_seconds?: { readonly min: number; readonly max: number };
}

interface Section<T> {
  readonly cases: readonly T[];
  readonly incoming_bodies?: readonly { readonly name: string; readonly body: string }[];
}

function section<T>(name: string): Section<T> {
  if (ignore || manifestPath === undefined) return { cases: [] };
  const found = JSON.parse(readFileSync(manifestPath, "utf8"))[name] as Section<T> | undefined;
  assert(found !== undefined && found.cases.length > 0, `the suite has no section '${name}'`);
  return found;
}

for (const item of section<Case>("pulsar_exhaustion").cases) {
  test(`conformance pulsar_exhaustion: ${item.name}`, () => {
    const result = settleOutcome({
      broker: "pulsar",
      kind: item.kind,
      bodyAttempts: item.body_attempts,
      bqAttempts: item.bq_attempts,
      redeliveryCount: item.redelivery_count,
      maxAttempts: item.max_attempts,
      deadLetter: item.dead_letter === true,
      onUnknownUrn: item.on_unknown_urn,
    });
    const { expect } = item;
    assert.equal(result.outcome, expect.outcome);
    if (expect.reason !== undefined) assert.equal(result.reason, expect.reason);
    if (expect.dead_letter_attempts !== undefined) {
      assert.equal(result.deadLetterAttempts, expect.dead_letter_attempts);
    }
  });
}

for (const broker of ["pulsar", "artemis", "sqs", "asb"] as const) {
  const { cases, incoming_bodies: bodies = [] } = section<Case>(`version_gate_${broker}`);
  for (const item of cases) {
    test(`conformance version_gate_${broker}: ${item.name}`, () => {
      assert(bodies.length > 0);
      for (const incoming of bodies) {
        const body = bytes(incoming.body);
        const result = settleOutcome({
          broker,
          kind: "gated",
          bqAttempts: item.bq_attempts,
          deadLetter: item.dead_letter === "on",
          onUnknownUrn: item.on_unknown_urn,
          dlqWrite: item.dlq_write,
          body,
        });
        assert.equal(result.outcome, item.expect.outcome, incoming.name);
        if (item.expect.record === "incoming_body") {
          assert.deepEqual(result.record, body, incoming.name);
        }
      }
    });
  }
}

for (const item of section<BackoffCase>("retry_backoff").cases) {
  test(`conformance retry_backoff: ${item.name}`, () => {
    const retry = backoff({
      baseMs: item.retry_backoff * 1_000,
      multiplier: item.retry_backoff_multiplier,
      maxMs: item.retry_backoff_max * 1_000,
      jitter: item.retry_jitter,
    });
    const range = item.expect_delay_range_seconds;
    if (range === undefined) {
      assert.equal(backoffMs(retry, item.n, 0.5), (item.expect_delay_seconds ?? NaN) * 1_000);
      return;
    }
    for (const random of [0, 0.25, 0.999]) {
      const seconds = backoffMs(retry, item.n, random) / 1_000;
      assert(seconds >= range.min && seconds <= range.max, `${seconds}`);
    }
  });
}

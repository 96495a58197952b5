/**
 * The settlement of one delivery in the words of the conformance suite: counting and `decide`, without
 * a broker.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pulsarCounting, reconcile } from "../../core/attempts.ts";
import { UnknownUrnError } from "../../core/errors.ts";
import { decide, type DecideOptions, type Outcome, type Subject } from "../../runtime/decide.ts";
import type { UnknownUrnStrategy } from "../../runtime/options.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import { blockOf, bytes, openEnvelope, options, POLICIES } from "./_decisions.ts";

/** The broker of a section, in the suite's spelling. */
export type SettleBroker =
  | "memory"
  | "redis"
  | "rabbitmq"
  | "sqs"
  | "asb"
  | "pulsar"
  | "kafka"
  | "artemis";

/** One case. */
export interface SettleCase {
  /** The broker. */
  readonly broker: SettleBroker;
  /** What happened. `unknown_urn`: a readable body without a handler; `gated`: its version slot holds `2`. */
  readonly kind: "failed" | "unknown_urn" | "poison" | "gated";
  /** `attempts` of the body; not read for `poison` and `gated`. */
  readonly bodyAttempts?: number | undefined;
  /** The `bq-attempts` property; only read on Pulsar. */
  readonly bqAttempts?: string | undefined;
  /** The native redelivery count; only read on Pulsar. */
  readonly redeliveryCount?: number | undefined;
  /**
   * Deliveries in all.
   *
   * @default {3}
   */
  readonly maxAttempts?: number | undefined;
  /** Whether dead-lettering is on. */
  readonly deadLetter: boolean;
  /** The strategy; undefined = not set. */
  readonly onUnknownUrn?: UnknownUrnStrategy | undefined;
  /**
   * Whether a write to the dead-letter queue succeeds.
   *
   * @default {"ok"}
   */
  readonly dlqWrite?: "ok" | "fails" | undefined;
  /** The body as it came; by default one that fits `kind`. */
  readonly body?: Uint8Array | undefined;
}

/** What becomes of it. */
export interface SettleResult {
  /** `ack` and `drop` are the same call: the suite says `ack` for a gated message. */
  readonly outcome: "ack" | "retry" | "dlq" | "dlq_raw" | "drop" | "native" | "unsettled";
  /** `dead_letter.reason` of a record. */
  readonly reason?: string;
  /** `dead_letter.attempts` of a record. */
  readonly deadLetterAttempts?: number;
  /** The bytes written to the dead-letter queue. */
  readonly record?: Uint8Array;
}

const POLICY_NAMES: Readonly<Record<SettleBroker, string>> = {
  memory: "memory",
  redis: "redis legacy",
  rabbitmq: "rabbitmq",
  sqs: "sqs",
  asb: "service bus",
  pulsar: "pulsar shared",
  kafka: "kafka",
  artemis: "artemis",
};

/** Counts, decides and, when the write fails, decides again. */
export function settleOutcome(settle: SettleCase): SettleResult {
  const policy = POLICIES[POLICY_NAMES[settle.broker]];
  assert(policy !== undefined, settle.broker);
  const delivery = subjectOf(settle);
  const outcome = outcomeOf(settle, delivery.queue);
  const set = options({
    deadLetter: settle.deadLetter,
    maxAttempts: settle.maxAttempts ?? 3,
    onUnknownUrn: settle.onUnknownUrn,
  });
  const { verdict } = decide(outcome, delivery, policy, set);
  switch (verdict.kind) {
    case "ack":
      return { outcome: settle.kind === "gated" ? "ack" : "drop" };
    case "retry":
    case "release":
      return { outcome: "retry" };
    case "leave":
    case "deadLetterNatively":
      return { outcome: "native" };
    case "return":
      return { outcome: "unsettled" };
    case "deadLetter":
      if (settle.dlqWrite === "fails") return afterFailedWrite(delivery, policy, set);
      return verdict.reason === "gated"
        ? { outcome: "dlq_raw", record: verdict.record }
        : { outcome: "dlq", ...blockResult(verdict.record), record: verdict.record };
  }
}

function subjectOf(settle: SettleCase): Subject {
  const readable = settle.kind === "failed" || settle.kind === "unknown_urn";
  const counting = settle.broker === "pulsar"
    ? pulsarCounting(settle.bqAttempts, settle.redeliveryCount ?? 0)
    : {};
  const body = readable ? openEnvelope(settle.bodyAttempts ?? 0) + "}" : "not json \t";
  return {
    queue: "shop",
    body: settle.body ?? bytes(body),
    reconciled: reconcile(readable ? settle.bodyAttempts ?? 0 : null, counting),
    nowMs: 1_760_000_005_000,
    random: 0,
  };
}

function outcomeOf({ kind }: SettleCase, queue: string): Outcome {
  switch (kind) {
    case "failed":
      return { kind: "failed", error: new Error("boom") };
    case "unknown_urn":
      return { kind: "unknownUrn", error: new UnknownUrnError("urn:babel:shop:paid", queue) };
    case "poison":
      return { kind: "poison", cause: "not JSON" };
    case "gated":
      return { kind: "gated", version: "2" };
  }
}

function afterFailedWrite(
  delivery: Subject,
  policy: SettlementPolicy,
  set: DecideOptions,
): SettleResult {
  const { verdict } = decide({ kind: "writeFailed" }, delivery, policy, set);
  assert(verdict.kind === "return" || verdict.kind === "leave", verdict.kind);
  return { outcome: "unsettled" };
}

function blockResult(record: Uint8Array): { reason: string; deadLetterAttempts: number } {
  const block = blockOf(record);
  return { reason: String(block["reason"]), deadLetterAttempts: Number(block["attempts"]) };
}

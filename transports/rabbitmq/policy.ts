/**
 * How RabbitMQ settles.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/** 30 days: a delay queue expires after its last message, and RabbitMQ takes no expiry above 2^32 - 1 ms (49.7 days). */
const LONGEST_DELAY_MS = 2_592_000_000;

/**
 * The rules of RabbitMQ: a retry is a confirmed copy, a delayed one waits in a delay queue. Poison
 * without a record is re-published byte for byte and counted by `x-attempts`.
 * Contract: the table of bindings section 4, Q7–Q14.
 *
 * @returns The frozen policy.
 */
export function rabbitmqPolicy(): SettlementPolicy {
  return Object.freeze({
    broker: "rabbitmq",
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: "native", maxMs: LONGEST_DELAY_MS }),
    release: "unbounded",
    poison: Object.freeze({ deletable: true, off: "retry", optedOut: "retry" }),
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "return", holdMs: 1_000 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

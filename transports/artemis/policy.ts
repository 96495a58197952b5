/**
 * How Apache ActiveMQ Artemis settles.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/**
 * The rules of Artemis: a retry without a delay is one counted `modified`, a delayed one a scheduled
 * copy; poison and gated messages are settled at first sight.
 * Contract: the table of bindings section 9, X12–X16.
 *
 * @returns The frozen policy.
 */
export function artemisPolicy(): SettlementPolicy {
  return Object.freeze({
    broker: "artemis",
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: "native" }),
    release: "unbounded",
    poison: Object.freeze({ deletable: true, off: "drop", optedOut: "drop" }),
    gatedOff: "drop",
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "return", holdMs: 1_000 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

/**
 * How Apache ActiveMQ Artemis settles.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/** What the rules depend on. */
export interface ArtemisPolicyOptions {
  /**
   * Whether the broker can schedule messages. Without it the worker holds what is to be retried later.
   *
   * @default {true}
   */
  readonly scheduler?: boolean;
}

/**
 * The rules of Artemis: a retry without a delay is one counted `modified`, a delayed one a scheduled
 * copy; poison and gated messages are settled at first sight.
 * Contract: the table of bindings section 9, X12–X16.
 *
 * @param options Whether the broker can schedule.
 * @returns The frozen policy.
 */
export function artemisPolicy(options: ArtemisPolicyOptions = {}): SettlementPolicy {
  const { scheduler = true } = options;
  return Object.freeze({
    broker: "artemis",
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: scheduler ? "native" : "held" }),
    release: "unbounded",
    poison: Object.freeze({ deletable: true, off: "drop", optedOut: "drop" }),
    gatedOff: "drop",
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "return", holdMs: 1_000 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

/**
 * How RabbitMQ settles.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/** 30 days: a delay queue expires after its last message, and RabbitMQ takes no expiry above 2^32 - 1 ms (49.7 days). */
export const LONGEST_DELAY_MS = 2_592_000_000;

/** What the rules depend on. */
export interface RabbitmqPolicyOptions {
  /**
   * Whether the broker can delay a message: through delay queues or an exchange. Where nothing may be
   * declared the worker holds the message instead.
   *
   * @default {true}
   */
  readonly brokerDelays?: boolean;
}

/**
 * The rules of RabbitMQ: a retry is a confirmed copy, a delayed one waits in a delay queue. Poison
 * without a record is re-published byte for byte and counted by `x-attempts`.
 * Contract: the table of bindings section 4, Q7–Q14.
 *
 * @param options What the rules depend on.
 * @returns The frozen policy.
 */
export function rabbitmqPolicy(
  { brokerDelays = true }: RabbitmqPolicyOptions = {},
): SettlementPolicy {
  return Object.freeze({
    broker: "rabbitmq",
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze(
      brokerDelays ? { kind: "native", maxMs: LONGEST_DELAY_MS } : { kind: "held" },
    ),
    release: "unbounded",
    poison: Object.freeze({ deletable: true, off: "retry", optedOut: "retry" }),
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "return", holdMs: 1_000 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

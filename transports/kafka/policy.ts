/**
 * How Apache Kafka settles, with and without retry tiers.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/** What the rules of Kafka depend on. */
export interface KafkaPolicyOptions {
  /** Whether retry tiers are configured. */
  readonly tiers: boolean;
}

/**
 * The rules of Kafka: a retry is a record on a tier topic. Without tiers nothing can be retried: the
 * record stays uncommitted, the partition is rewound after a pause and waits behind it.
 * Contract: the table of bindings section 8, K14, K25, K50–K54.
 *
 * @param options `tiers`: whether retry tiers are configured.
 * @returns The frozen policy.
 */
export function kafkaPolicy(options: KafkaPolicyOptions): SettlementPolicy {
  return Object.freeze({
    broker: options.tiers ? "kafka" : "kafka-without-tiers",
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "received",
    retry: options.tiers ? "possible" : "impossible",
    retryDelay: Object.freeze({ kind: "tiers" }),
    release: "counted",
    poison: Object.freeze({
      deletable: true,
      off: options.tiers ? "retry" : "drop",
      optedOut: "drop",
    }),
    gatedOff: "drop",
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "return", holdMs: 1_000 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

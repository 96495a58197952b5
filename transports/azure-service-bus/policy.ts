/**
 * How Azure Service Bus settles.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/**
 * The rules of Service Bus: a retry abandons the lock and sends no copy, which duplicate detection
 * would swallow; the worker holds a message that is to be delayed. What may not be written to a
 * dead-letter queue goes to the native one.
 * Contract: the table of bindings section 6, A4, A13–A17.
 *
 * @returns The frozen policy.
 */
export function serviceBusPolicy(): SettlementPolicy {
  return Object.freeze({
    broker: "azure-service-bus",
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: "held" }),
    release: "unbounded",
    poison: Object.freeze({ deletable: true, off: "native", optedOut: "native" }),
    gatedOff: "native",
    exhaustedOff: "native",
    writeFailed: Object.freeze({ kind: "return", holdMs: 1_000 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

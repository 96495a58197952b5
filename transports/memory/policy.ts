/**
 * How the memory transport settles.
 *
 * @module
 */

import type { SettlementPolicy } from "../../runtime/policy.ts";

/**
 * The rules of the memory transport: retries and releases are put back by the queue itself, poison
 * without a record is delivered until the cap and counted beside the body.
 * Contract: the table of bindings section 10, M1–M4.
 *
 * @returns The frozen policy.
 */
export function memoryPolicy(): SettlementPolicy {
  return Object.freeze({
    broker: "memory",
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: "native" }),
    release: "unbounded",
    poison: Object.freeze({ deletable: true, off: "retry", optedOut: "retry" }),
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "return", holdMs: 0 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

/**
 * How Amazon SQS settles.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/** 12 hours, the longest visibility time-out. Contract: S21. */
const LONGEST_VISIBILITY_MS = 43_200_000;

/** Ending that the name of every FIFO queue must have. */
const FIFO = ".fifo";

/** A FIFO queue needs a FIFO dead-letter queue, so the suffix goes before the ending. Contract: G34. */
function sqsDeadLetterQueue(queue: string, suffix: string = "-dlq"): string {
  return queue.endsWith(FIFO) ? queue.slice(0, -FIFO.length) + suffix + FIFO : queue + suffix;
}

/**
 * The rules of SQS: a retry changes the visibility and sends nothing; what may not be written to a
 * dead-letter queue is left to the queue's own redrive policy, untouched.
 * Contract: the table of bindings section 5, S20–S28.
 *
 * @returns The frozen policy.
 */
export function sqsPolicy(): SettlementPolicy {
  return Object.freeze({
    broker: "sqs",
    deadLetterQueue: sqsDeadLetterQueue,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: "native", maxMs: LONGEST_VISIBILITY_MS }),
    release: "unbounded",
    poison: Object.freeze({ deletable: true, off: "leave", optedOut: "leave" }),
    gatedOff: "leave",
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "leave", holdMs: 0 }),
    shutdown: "return",
    missingAttempts: "dispatch",
  });
}

import { LONGEST_DELAY_MS } from "./policy.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The delays that there are queues for. Messages of one queue all wait equally long, so none stands behind one that waits longer. */
export const DELAYS_MS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 30].map((n) => n * MINUTE),
  ...[1, 2, 5, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 20].map((n) => n * DAY),
  LONGEST_DELAY_MS,
];

/** How long a delay queue that nobody has named again outlives its last message. */
const OUTLIVES_MS = 10 * MINUTE;

/** A declaration older than this is made again, which begins the queue's time anew. */
export const RENEW_MS: number = MINUTE;

/** The next of the delays, upwards; 0 stays 0. */
export function delayFor(ms: number): number {
  if (!(ms > 0)) return 0;
  return DELAYS_MS.find((delay) => delay >= ms) ?? LONGEST_DELAY_MS;
}

/** The queue in which messages for `queue` wait that long. */
export function delayQueueOf(queue: string, delayMs: number): string {
  return `${queue}.delay.${delayMs}`;
}

/**
 * Arguments of a delay queue. A classic one expires when it has not been declared for longer than its
 * messages wait: each has left by then, taken by its queue or lost. A replicated one keeps what its queue
 * does not take, and would take that with it, so that it stays.
 */
export function delayArguments(
  queue: string,
  delayMs: number,
  quorum: boolean,
): Record<string, unknown> {
  return {
    "x-message-ttl": delayMs,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": queue,
    // Without these a replicated queue may lose a message on its way back.
    ...(quorum
      ? {
        "x-queue-type": "quorum",
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
      }
      : { "x-expires": delayMs + OUTLIVES_MS }),
  };
}

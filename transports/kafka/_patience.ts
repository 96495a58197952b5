import type { Clock } from "@bq/core/transport";
import { isNotYet } from "./_errors.ts";

/** How long an answer that soon is another is asked for again, in milliseconds. */
const PATIENCE_MS = 15_000;
/** How often, in milliseconds. */
const AGAIN_MS = 100;

/** How long a question is asked again. */
export interface Patience {
  /** In milliseconds; 15,000 when it is absent. */
  readonly patienceMs?: number;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/**
 * Asks again while the broker is still making ready: it has just come up, a partition has a new leader,
 * or a topic is quite new.
 *
 * @param clock Time.
 * @param ask The question.
 * @param patience How long.
 * @returns The first answer.
 * @throws What was met last, when the time is over, and any other error at once.
 */
export async function patiently<T>(
  clock: Clock,
  ask: () => Promise<T>,
  { patienceMs = PATIENCE_MS, signal }: Patience = {},
): Promise<T> {
  const untilMs = clock.elapsed() + patienceMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isNotYet(error) || clock.elapsed() >= untilMs) throw error;
      await clock.sleep(AGAIN_MS, signal);
      if (signal?.aborted) throw error;
    }
  }
}

/**
 * The only place that tells time, and the seam through which tests and the simulation replace it.
 *
 * @module
 */

/** Time as the runtime and every transport see it. */
export interface Clock {
  /** The wall clock, in Unix milliseconds. */
  now(): number;
  /** Milliseconds since some moment, for measuring time: nothing sets it back or forward. */
  elapsed(): number;
  /**
   * Resolves after `ms` milliseconds, at once for 0 or less, and never sooner than the next turn of
   * the event loop. An abort resolves it early; it never rejects.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** One look at both clocks, for all that is done before anything is waited for. */
export interface Moment {
  /** `Clock.now`. */
  readonly nowMs: number;
  /** `Clock.elapsed`. */
  readonly elapsedMs: number;
}

/** Looks at both clocks. */
export function momentOf(clock: Clock): Moment {
  return { nowMs: clock.now(), elapsedMs: clock.elapsed() };
}

/** Longest delay that `setTimeout` takes without wrapping, in milliseconds. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;

/** The real clock: `Date.now`, `performance.now` and `setTimeout`. */
export const systemClock: Clock = {
  now: (): number => Date.now(),
  elapsed: (): number => performance.now(),
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    let left = ms;
    do {
      await timer(Math.min(left, LONGEST_TIMEOUT_MS), signal);
      left -= LONGEST_TIMEOUT_MS;
    } while (left > 0 && !signal?.aborted);
  },
};

function timer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(id);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const id = setTimeout(done, Math.max(0, ms));
    // The first setTimeout of a Deno process runs pending promise jobs, and one of them may abort.
    if (signal?.aborted) done();
    else signal?.addEventListener("abort", done, { once: true });
  });
}

/** Chance for jitter: at least 0 and below 1. Never for a token. */
export function systemRandom(): number {
  return Math.random();
}

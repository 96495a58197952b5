/**
 * How long a message waits before it is delivered again: pure arithmetic, in milliseconds.
 *
 * @module
 */

import type { RetryOptions } from "./options.ts";
import type { RetryDelay } from "./policy.ts";

/** Longest delay handed to any broker: 100 years, so that now plus the delay stays an exact integer and a valid date everywhere. */
const LONGEST_DELAY_MS = 3_155_760_000_000;

/** Pause before a release without a delay where the broker would give the message back at once, in milliseconds. */
const RELEASE_PAUSE_MS = 1_000;

/** When a message is given back: the broker waits `delayMs`, the worker `holdMs` before that. */
export interface Pace {
  /** Wait at the broker, in whole milliseconds. */
  readonly delayMs: number;
  /** Wait in the worker, in whole milliseconds. */
  readonly holdMs: number;
  /** The delay that was asked for, only set when it had to be cut. */
  readonly requestedMs?: number;
}

/**
 * The wait after a failed delivery: `min(maxMs, baseMs * multiplier^(counted - 1))`, not rounded.
 * Contract: G46, C157–C159.
 *
 * @param retry The resolved back-off options; `maxMs` 0 means no limit.
 * @param counted Ordinal of the failed delivery, 1 for the first.
 * @param random A number of at least 0 and below 1; with `full` jitter the wait is this part of it.
 * @returns The wait in milliseconds, always finite.
 */
export function backoffMs(
  retry: Readonly<Pick<Required<RetryOptions>, "baseMs" | "multiplier" | "maxMs" | "jitter">>,
  counted: number,
  random: number,
): number {
  if (retry.baseMs === 0) return 0; // 0 times an overflowed factor is not a number
  const limit = retry.maxMs === 0 ? Number.MAX_VALUE : retry.maxMs;
  const wait = Math.min(limit, retry.baseMs * retry.multiplier ** (counted - 1));
  return retry.jitter === "full" ? wait * random : wait;
}

/**
 * Fits the delay of a retry into what the broker, or the worker in its place, can do.
 * Contract: G47, C161.
 *
 * @param requestedMs The delay asked for.
 * @param by How the broker delays.
 * @param maxHoldMs Longest time that the worker holds a message.
 * @returns The delay and the hold.
 */
export function retryPace(requestedMs: number, by: RetryDelay, maxHoldMs: number): Pace {
  if (by.kind === "tiers") return { delayMs: 0, holdMs: 0 };
  const limit = by.kind === "held" ? maxHoldMs : by.maxMs ?? LONGEST_DELAY_MS;
  const waitMs = Math.min(Math.ceil(requestedMs), limit);
  const pace = by.kind === "held" ? { delayMs: 0, holdMs: waitMs } : { delayMs: waitMs, holdMs: 0 };
  return requestedMs > limit ? { ...pace, requestedMs } : pace;
}

/**
 * The same for the release of an unknown URN. Where the broker cannot delay, a release without a
 * delay still waits a second in the worker, or the message would come back in a tight loop.
 *
 * @param requestedMs The delay asked for.
 * @param by How the broker delays.
 * @param maxHoldMs Longest time that the worker holds a message.
 * @returns The delay and the hold.
 */
export function releasePace(requestedMs: number, by: RetryDelay, maxHoldMs: number): Pace {
  if (by.kind === "held" && requestedMs === 0) {
    return { delayMs: 0, holdMs: Math.min(RELEASE_PAUSE_MS, maxHoldMs) };
  }
  return retryPace(requestedMs, by, maxHoldMs);
}

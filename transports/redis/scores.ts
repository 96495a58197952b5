/**
 * Scores: points in time as the sorted sets hold them, in whole seconds of the local clock.
 *
 * @module
 */

/**
 * When a delayed message is due. Contract: R6.
 *
 * @param nowMs Now, in Unix milliseconds.
 * @param delayMs The delay, in milliseconds.
 * @returns Unix seconds: now rounded down, plus the delay rounded up.
 */
export function delayedScore(nowMs: number, delayMs: number): number {
  return secondsOf(nowMs) + Math.ceil(delayMs / 1_000);
}

/** Now in whole seconds. Contract: R11. */
export function secondsOf(nowMs: number): number {
  return Math.floor(nowMs / 1_000);
}

/** A score as a command takes it. */
export function scoreText(score: number): string {
  return score === Infinity ? "+inf" : String(score);
}

/** A score as a reply brings it. */
export function scoreOf(text: string): number {
  return /^\+?inf$/i.test(text) ? Infinity : Number(text);
}

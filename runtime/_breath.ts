import type { Clock } from "../core/clock.ts";
import { pause } from "./_waits.ts";

/** Longest time that work which never waits may keep timers and signals from running, in milliseconds; at most twice as long goes by until that is seen. */
const BREATH_MS = 15;

/**
 * Sees to it that the event loop turns. A transport that answers without waiting for anything, as
 * memory does, keeps it in promise jobs, and no timer and no signal would ever run.
 *
 * Whether the loop turns by itself is asked with one timer of 0 at a time, not more often than every
 * 15 ms: where it does, nobody waits for that.
 */
export class Breath {
  readonly #clock: Clock;
  readonly #closing: AbortController = new AbortController();
  /** When the loop was last known to turn or, while the timer is under way, when that began. */
  #sinceMs: number;
  #turn: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.elapsed();
  }

  /** What to wait for before going on, at a time of `Clock.elapsed`; undefined while the event loop turns by itself. */
  take(nowMs: number = this.#clock.elapsed()): Promise<void> | undefined {
    if (nowMs - this.#sinceMs < BREATH_MS || this.#closing.signal.aborted) return undefined;
    if (this.#turn !== undefined) return this.#turn;
    this.#sinceMs = nowMs;
    this.#turn = pause(this.#clock, 0, this.#closing.signal).then(() => {
      this.#turn = undefined;
      this.#sinceMs = this.#clock.elapsed();
    });
    return undefined;
  }

  /** Takes the timer back; whoever waits goes on. */
  close(): void {
    this.#closing.abort();
  }
}

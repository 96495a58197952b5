import type { Clock } from "../core/clock.ts";
import { pause } from "./_waits.ts";

/**
 * Longest sleep at a time, in milliseconds. A sleep is not cut when the last deadline is removed, since
 * the next message adds one at once; so it must be short enough not to keep a finished process alive.
 */
const LONGEST_SLEEP_MS = 1_000;

/** Something that is due at a point in time. */
export interface Deadline {
  /** When it is due, in milliseconds of `Clock.elapsed`. */
  readonly atMs: number;
  /** What is done then. */
  readonly run: () => void;
}

/**
 * Many deadlines on one sleep of the clock, measured in elapsed time, so that a wall clock that is set
 * back or forward changes none of them. A message adds two or three (time-out, lease, settle) and
 * nearly always removes them again before they are due; a timer each would cost more than the rest of
 * the worker.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #entries: Set<Deadline> = new Set();
  #wakeAtMs = Infinity;
  #closed = false;
  #sleep: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many are waiting. */
  get size(): number {
    return this.#entries.size;
  }

  /** Adds a deadline `delayMs` milliseconds from now; otherwise as `at`. */
  add(delayMs: number, run: () => void): Deadline {
    return this.at(this.#clock.elapsed() + delayMs, run);
  }

  /**
   * Adds a deadline, at once for what is no number; hand the result to `remove`. For who has looked at
   * the clock already: a look costs more than the rest of this.
   *
   * @param atMs When, in milliseconds of `Clock.elapsed`.
   */
  at(atMs: number, run: () => void): Deadline {
    // A single NaN would make the least of all deadlines NaN, and nothing would come due any more.
    const entry: Deadline = { atMs: Number.isNaN(atMs) ? this.#clock.elapsed() : atMs, run };
    if (this.#closed) return entry;
    this.#entries.add(entry);
    if (entry.atMs < this.#wakeAtMs) this.#arm(entry.atMs);
    return entry;
  }

  /** Removes a deadline; one that is gone already is no error. */
  remove(entry: Deadline | undefined): void {
    if (entry) this.#entries.delete(entry);
  }

  /** Forgets every deadline and the timer; what is added afterwards never comes due. */
  close(): void {
    this.#closed = true;
    this.#entries.clear();
    this.#disarm();
  }

  #disarm(): void {
    this.#wakeAtMs = Infinity;
    this.#sleep?.abort();
    this.#sleep = null;
  }

  #arm(atMs: number): void {
    this.#disarm();
    const now = this.#clock.elapsed();
    const sleep = new AbortController();
    this.#sleep = sleep;
    this.#wakeAtMs = Math.min(atMs, now + LONGEST_SLEEP_MS);
    // Whole milliseconds, as timers have them: a fraction could be lost in adding it to a large number.
    pause(this.#clock, Math.ceil(this.#wakeAtMs - now), sleep.signal).then(() => {
      if (this.#sleep === sleep) this.#wake();
    });
  }

  #wake(): void {
    this.#sleep = null;
    this.#wakeAtMs = Infinity;
    const now = this.#clock.elapsed();
    for (const entry of [...this.#entries]) {
      // An earlier one of this round may have removed it.
      if (entry.atMs <= now && this.#entries.delete(entry)) entry.run();
    }
    let next = Infinity;
    for (const entry of this.#entries) next = Math.min(next, entry.atMs);
    if (next < this.#wakeAtMs) this.#arm(next);
  }
}

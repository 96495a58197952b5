import type { Clock } from "../../core/clock.ts";
import type { Chance } from "./_chance.ts";

/** Where the wall clocks start, in Unix milliseconds. */
const EPOCH_MS = 1_760_000_000_000;

/**
 * Turns of the promise queue that a step waits for. It has to be longer than the longest chain of
 * promise jobs that one event sets off, or time would move on too early.
 */
const TURNS = 48;

/** Something that happens at a point of virtual time. */
export interface Entry {
  readonly dueMs: number;
  readonly tie: number;
  run: (() => void) | null;
}

/**
 * Virtual time, which moves only from one entry to the next. Entries that are due at the same time run
 * in an order drawn by chance, now and then without a pause between them.
 */
export class Time {
  readonly #chance: Chance;
  /** The next one is the last. */
  readonly #entries: Entry[] = [];
  /** Called when a step is over and nothing happens any more without time. */
  afterStep: (() => void) | null = null;
  #nowMs = 0;
  #blockedMs = 0;
  #steps = 0;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Milliseconds since the history began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Milliseconds in which code ran without a pause, so that nothing else could. */
  get blockedMs(): number {
    return this.#blockedMs;
  }

  /** How many steps were taken; within one nobody has seen yet what happened in it. */
  get steps(): number {
    return this.#steps;
  }

  /** Runs something after a wait of whole milliseconds, as timers do. */
  at(delayMs: number, run: () => void): Entry {
    const entry: Entry = {
      dueMs: this.#nowMs + Math.max(0, Math.ceil(delayMs)),
      tie: this.#chance.next(),
      run,
    };
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#entries[middle]!;
      const later = other.dueMs > entry.dueMs ||
        (other.dueMs === entry.dueMs && other.tie > entry.tie);
      if (later) low = middle + 1;
      else high = middle;
    }
    this.#entries.splice(low, 0, entry);
    return entry;
  }

  /** Takes an entry back; one that ran is no error. */
  cancel(entry: Entry): void {
    if (entry.run === null) return;
    entry.run = null;
    this.#entries.splice(this.#entries.indexOf(entry), 1);
  }

  /** Time passes while the code that is running does not yield. */
  block(ms: number): void {
    this.#nowMs += ms;
    this.#blockedMs += ms;
  }

  /** Runs the next entry and all that follows from it without time; false when there is none. */
  async step(): Promise<boolean> {
    this.#steps++;
    if (!this.#runNext()) return false;
    while (this.#entries.at(-1)?.dueMs === this.#nowMs && this.#chance.hits(0.2)) this.#runNext();
    await this.pause();
    this.afterStep?.();
    return true;
  }

  /** Lets the promise jobs run that are ready. */
  async pause(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await null;
  }

  #runNext(): boolean {
    const entry = this.#entries.pop();
    if (entry === undefined) return false;
    this.#nowMs = Math.max(this.#nowMs, entry.dueMs);
    const { run } = entry;
    entry.run = null;
    run?.();
    return true;
  }
}

/** The clock of one process: a wall clock that can be set, and sleeps that end with the process. */
export class ProcessClock implements Clock {
  readonly #time: Time;
  readonly #sleeps: Set<Entry> = new Set();
  #yields = 0;
  readonly #lag: () => number;
  #offsetMs: number;
  #frozen = false;

  /** Timers fire up to `lagMs` late: an event loop has other things to do. */
  constructor(time: Time, offsetMs: number, lag: () => number) {
    this.#time = time;
    this.#offsetMs = offsetMs;
    this.#lag = lag;
  }

  /** How many sleeps are under way. */
  get sleeping(): number {
    return this.#sleeps.size;
  }

  /** Whether something waits for the next turn of the event loop, which may be late. */
  get yielding(): boolean {
    return this.#yields > 0;
  }

  now(): number {
    return EPOCH_MS + this.#time.nowMs + this.#offsetMs;
  }

  elapsed(): number {
    return this.#time.nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (this.#frozen) return;
      if (signal?.aborted) return resolve();
      const entry = this.#time.at(Math.max(0, ms) + this.#lag(), () => end());
      if (ms <= 0) this.#yields++;
      const end = (): void => {
        if (ms <= 0) this.#yields--;
        this.#time.cancel(entry);
        this.#sleeps.delete(entry);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      this.#sleeps.add(entry);
      signal?.addEventListener("abort", end, { once: true });
    });
  }

  /** Somebody sets the wall clock; sleeps do not notice. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  /** The process is gone: no sleep ends any more. */
  freeze(): void {
    this.#frozen = true;
    for (const entry of this.#sleeps) this.#time.cancel(entry);
    this.#sleeps.clear();
  }
}

import type { Clock } from "@bq/core/transport";

/** A receive that found nothing. */
interface Waiter<T> {
  readonly untilMs: number;
  readonly max: number;
  look(brought: readonly T[]): void;
}

/**
 * How an idle subscription passes the time, at most `ms` milliseconds. It may bring up to `max` of what
 * is waited for. The signal says that there is something to look for; what cannot be cut short without
 * a loss takes no notice of it.
 */
export type Pause<T> = (ms: number, max: number, signal: AbortSignal) => Promise<readonly T[]>;

/**
 * Receives that wait for messages. They share one pause at a time, which is made for the first of them:
 * it gets what the pause brings, and looks again. A receive that took all it wanted lets the next one
 * look at once.
 */
export class Idle<T> {
  readonly #pause: Pause<T>;
  readonly #clock: Clock;
  /** All but the one that the pause is made for. */
  readonly #waiters: Waiter<T>[] = [];
  /** Cuts the pause short that is under way. */
  #pausing: AbortController | undefined;
  #over = false;

  /**
   * @param pause One pause.
   * @param clock Time.
   */
  constructor(pause: Pause<T>, clock: Clock) {
    this.#pause = pause;
    this.#clock = clock;
  }

  /**
   * Resolves when it is this receive's turn to look, at the latest at `untilMs` of `Clock.elapsed`.
   *
   * @returns Up to `max` of what the pause brought.
   */
  wait(untilMs: number, max: number): Promise<readonly T[]> {
    if (this.#over) return Promise.resolve([]);
    return new Promise((look) => {
      this.#waiters.push({ untilMs, max, look });
      if (this.#pausing === undefined) void this.#run();
    });
  }

  /** Lets the next one look: there may be more. */
  knock(): void {
    if (!this.#next()) this.#pausing?.abort();
  }

  /** Ends every wait, now and later. */
  end(): void {
    this.#over = true;
    this.#pausing?.abort();
    for (const waiter of this.#waiters.splice(0)) waiter.look([]);
  }

  #next(): boolean {
    const next = this.#waiters.shift();
    next?.look([]);
    return next !== undefined;
  }

  async #run(): Promise<void> {
    for (let first = this.#waiters.shift(); first; first = this.#waiters.shift()) {
      const { signal } = this.#pausing = new AbortController();
      const nowMs = this.#clock.elapsed();
      const untilMs = Math.min(first.untilMs, ...this.#waiters.map((waiter) => waiter.untilMs));
      const { max, look } = first;
      const brought = untilMs > nowMs ? await this.#pause(untilMs - nowMs, max, signal) : [];
      look(brought);
      if (brought.length === max) this.#next();
      const lateMs = this.#clock.elapsed();
      for (const late of this.#waiters.filter((waiter) => waiter.untilMs <= lateMs)) {
        this.#waiters.splice(this.#waiters.indexOf(late), 1);
        late.look([]);
      }
    }
    this.#pausing = undefined;
  }
}

/** First and longest sleep of a consumer that polls, in milliseconds. Contract: R72. */
const FIRST_POLL_MS = 100;
const LONGEST_POLL_MS = 1_000;

/** The growing sleeps of consumers that poll one queue; kept as long as the transport. */
export class PollBackOff {
  #nextMs: number = FIRST_POLL_MS;

  /** The next sleep, which makes the one after it longer. */
  next(): number {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(2 * ms, LONGEST_POLL_MS);
    return ms;
  }

  /** A message came: the next sleep is short again. */
  reset(): void {
    this.#nextMs = FIRST_POLL_MS;
  }
}

import type { Clock } from "@bq/core/transport";

/** A receive that found nothing. */
interface Waiter {
  readonly untilMs: number;
  look(): void;
}

/** How an idle subscription passes the time: until somebody knocks, or `ms` are over. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

/**
 * Receives that wait for messages. They share one pause at a time, after which the first of them looks
 * again; a receive that took all it wanted lets the next one look at once.
 */
export class Idle {
  readonly #pause: Pause;
  readonly #clock: Clock;
  readonly #end: AbortController = new AbortController();
  readonly #waiters: Waiter[] = [];
  #pausing = false;

  /**
   * @param pause One pause.
   * @param clock Time.
   */
  constructor(pause: Pause, clock: Clock) {
    this.#pause = pause;
    this.#clock = clock;
  }

  /** Resolves when it is this receive's turn to look, at the latest at `untilMs` of `Clock.elapsed`. */
  wait(untilMs: number): Promise<void> {
    if (this.#end.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ untilMs, look: resolve });
      if (!this.#pausing) void this.#run();
    });
  }

  /** Lets the next one look: there may be more. */
  knock(): void {
    this.#waiters.shift()?.look();
  }

  /** Ends every wait, now and later. */
  end(): void {
    this.#end.abort();
    for (const waiter of this.#waiters.splice(0)) waiter.look();
  }

  async #run(): Promise<void> {
    this.#pausing = true;
    while (this.#waiters.length > 0) {
      const nowMs = this.#clock.elapsed();
      const untilMs = Math.min(...this.#waiters.map((waiter) => waiter.untilMs));
      if (untilMs > nowMs) await this.#pause(untilMs - nowMs, this.#end.signal);
      this.knock();
      const lateMs = this.#clock.elapsed();
      for (const late of this.#waiters.filter((waiter) => waiter.untilMs <= lateMs)) {
        this.#waiters.splice(this.#waiters.indexOf(late), 1);
        late.look();
      }
    }
    this.#pausing = false;
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

import type { Clock, Delivery } from "@bq/core/transport";

/** A receive that waits. */
export interface Waiter {
  readonly max: number;
  /** When its time is over, by `Clock.elapsed`. */
  readonly untilMs: number;
  answer(deliveries: readonly Delivery[]): void;
  fail(error: Error): void;
}

/**
 * The receives that wait, the oldest first. One sleep serves them all: with a timer for each, timers
 * would be most of the work on a busy queue.
 */
export class Waiters {
  readonly #clock: Clock;
  readonly #expired: () => void;
  readonly #ended: AbortController = new AbortController();
  #waiters: Waiter[] = [];
  #asleep: AbortController | undefined;
  #wakesMs = Infinity;

  /**
   * @param clock Time.
   * @param expired Called when the time of some is over, before they are answered.
   */
  constructor(clock: Clock, expired: () => void) {
    this.#clock = clock;
    this.#expired = expired;
  }

  /** How many messages are waited for. */
  get wanted(): number {
    return this.#waiters.reduce((sum, { max }) => sum + max, 0);
  }

  /** Waits for up to `max` messages until that time, or without an end. */
  add(max: number, untilMs: number): { waiter: Waiter; came: Promise<readonly Delivery[]> } {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Delivery[]>();
    const waiter: Waiter = { max, untilMs, answer: resolve, fail: reject };
    this.#waiters.push(waiter);
    if (untilMs < this.#wakesMs) void this.#sleep(untilMs);
    return { waiter, came: promise };
  }

  /** Takes the oldest away, to be answered. */
  next(): Waiter | undefined {
    return this.#waiters.shift();
  }

  /** Answers one with nothing, if it still waits. */
  withdraw(waiter: Waiter): void {
    const at = this.#waiters.indexOf(waiter);
    if (at < 0) return;
    this.#waiters.splice(at, 1);
    waiter.answer([]);
  }

  /** Answers all with nothing, or fails them. */
  answerAll(error?: Error): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { answer, fail } of waiters) {
      if (error === undefined) answer([]);
      else fail(error);
    }
  }

  /** Ends the sleep; nobody waits any more. */
  end(): void {
    this.#ended.abort();
    this.#asleep?.abort();
    this.answerAll();
  }

  /** Sleeps until the earliest end; who was answered before that costs nothing. */
  async #sleep(untilMs: number): Promise<void> {
    this.#asleep?.abort();
    const awake = new AbortController();
    this.#asleep = awake;
    this.#wakesMs = untilMs;
    await this.#clock.sleep(untilMs - this.#clock.elapsed(), awake.signal);
    if (this.#asleep !== awake || this.#ended.signal.aborted) return;
    this.#asleep = undefined;
    this.#wakesMs = Infinity;
    const nowMs = this.#clock.elapsed();
    const over = this.#waiters.filter((waiter) => waiter.untilMs <= nowMs);
    if (over.length > 0) this.#expired();
    for (const waiter of over) this.withdraw(waiter);
    const next = Math.min(...this.#waiters.map((waiter) => waiter.untilMs));
    if (next < Infinity && next < this.#wakesMs) void this.#sleep(next);
  }
}

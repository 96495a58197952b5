import { asError, messageOf } from "../core/thrown.ts";
import type { Clock } from "../core/clock.ts";
import { issue } from "./_waits.ts";
import type { Deadline, Deadlines } from "./_deadlines.ts";
import type { Delivery, Subscription } from "./transport.ts";

/** Shortest wait between two tries to extend one lease, in milliseconds. */
const SHORTEST_WAIT_MS = 20;

/**
 * Keeps one delivery's lease: extends it at half of what is left, and tells when it is over. A lease
 * that cannot be extended is only watched.
 */
export class LeaseKeeper {
  readonly #delivery: Delivery;
  readonly #subscription: Subscription;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #onLost: (error?: Error) => void;
  /** When the lease ends, in milliseconds of `Clock.elapsed`. */
  #untilMs: number;
  #next: Deadline | undefined;
  #turn = 0;
  /** Why the last try to extend failed; goes with the report of the loss. */
  #failure: Error | undefined;

  constructor(
    delivery: Delivery,
    subscription: Subscription,
    clock: Clock,
    deadlines: Deadlines,
    onLost: (error?: Error) => void,
  ) {
    this.#delivery = delivery;
    this.#subscription = subscription;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#onLost = onLost;
    this.#untilMs = this.#measured(delivery.leaseUntilMs ?? Infinity);
    this.start();
  }

  /** Whether the lease is over by the worker's clock. */
  get over(): boolean {
    return this.#untilMs !== Infinity && this.#clock.elapsed() >= this.#untilMs;
  }

  /** Begins, or begins again. */
  start(): void {
    if (this.#untilMs === Infinity) return;
    const turn = ++this.#turn;
    const left = this.#untilMs - this.#clock.elapsed();
    const extend = this.#subscription.extend !== undefined;
    const waitMs = extend ? Math.max(left / 2, Math.min(left, SHORTEST_WAIT_MS)) : left;
    this.#wait(waitMs, () => {
      if (turn !== this.#turn) return;
      if (this.over) return this.#lose();
      this.#extend(turn);
    });
  }

  /** Ends; an answer still to come is ignored. */
  stop(): void {
    this.#turn++;
    this.#deadlines.remove(this.#next);
    this.#next = undefined;
  }

  /** A lease says in wall time when it ends; from here on only the time that passes counts. */
  #measured(untilMs: number): number {
    return untilMs - this.#clock.now() + this.#clock.elapsed();
  }

  #wait(ms: number, run: () => void): void {
    this.#deadlines.remove(this.#next);
    this.#next = this.#deadlines.add(ms, run);
  }

  #extend(turn: number): void {
    // Without an answer the lease ends when it ends.
    this.#wait(this.#untilMs - this.#clock.elapsed(), () => {
      if (turn === this.#turn) this.#lose();
    });
    const failed = (error: unknown): void => {
      if (turn !== this.#turn) return;
      this.#failure = asError(error);
      if (this.over) this.#lose();
      else this.start();
    };
    issue(() => this.#subscription.extend!(this.#delivery)).then((untilMs) => {
      if (turn !== this.#turn) return;
      if (untilMs === null) return this.#lose();
      // What says no time leaves the lease as it is.
      if (!Number.isFinite(untilMs)) {
        return failed(
          new Error(`Cannot extend a lease: the transport answered ${messageOf(untilMs)}`),
        );
      }
      this.#failure = undefined;
      this.#untilMs = this.#measured(untilMs);
      this.start();
    }, failed);
  }

  #lose(): void {
    this.stop();
    this.#onLost(this.#failure);
  }
}

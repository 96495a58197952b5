import { asError, messageOf } from "../core/thrown.ts";
import { type Clock, type Moment, momentOf } from "../core/clock.ts";
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
  #overAtMs: number;
  #next: Deadline | undefined;
  #turn = 0;
  /** Why the last try to extend failed; goes with the report of the loss. */
  #failure: Error | undefined;

  /** @param at When the delivery came. */
  constructor(
    delivery: Delivery,
    subscription: Subscription,
    clock: Clock,
    deadlines: Deadlines,
    at: Moment,
    onLost: (error?: Error) => void,
  ) {
    this.#delivery = delivery;
    this.#subscription = subscription;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#onLost = onLost;
    this.#overAtMs = overAtMs(delivery.leaseUntilMs ?? Infinity, at);
    this.start(at.elapsedMs);
  }

  /** Whether the lease is over by the worker's clock, at a time of `Clock.elapsed`. */
  over(atMs: number): boolean {
    return atMs >= this.#overAtMs;
  }

  /** Begins, or begins again, at a time of `Clock.elapsed`. */
  start(atMs: number): void {
    if (this.#overAtMs === Infinity) return;
    const turn = ++this.#turn;
    const left = this.#overAtMs - atMs;
    const nextAtMs = this.#subscription.extend === undefined
      ? this.#overAtMs
      : atMs + Math.max(left / 2, Math.min(left, SHORTEST_WAIT_MS));
    this.#wait(nextAtMs, () => {
      if (turn !== this.#turn) return;
      if (this.over(this.#clock.elapsed())) return this.#lose();
      this.#extend(turn);
    });
  }

  /** Ends; an answer still to come is ignored. */
  stop(): void {
    this.#turn++;
    this.#deadlines.remove(this.#next);
    this.#next = undefined;
  }

  #wait(untilMs: number, run: () => void): void {
    this.#deadlines.remove(this.#next);
    this.#next = this.#deadlines.at(untilMs, run);
  }

  #extend(turn: number): void {
    // Without an answer the lease ends when it ends.
    this.#wait(this.#overAtMs, () => {
      if (turn === this.#turn) this.#lose();
    });
    const failed = (error: unknown): void => {
      if (turn !== this.#turn) return;
      this.#failure = asError(error);
      const nowMs = this.#clock.elapsed();
      if (this.over(nowMs)) this.#lose();
      else this.start(nowMs);
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
      const at = momentOf(this.#clock);
      this.#overAtMs = overAtMs(untilMs, at);
      this.start(at.elapsedMs);
    }, failed);
  }

  #lose(): void {
    this.stop();
    this.#onLost(this.#failure);
  }
}

/** A lease says in wall time when it ends; from here on only the time that passes counts. */
function overAtMs(untilMs: number, { nowMs, elapsedMs }: Moment): number {
  return untilMs - nowMs + elapsedMs;
}

import type { World } from "./_world.ts";

/** Shortest wait of the worker between two tries to extend one lease, in milliseconds. */
const SHORTEST_WAIT_MS = 20;

/** Timers that may have fired late one after the other until the worker asks. */
const LATE_TIMERS = 2;

/** What rounding to whole milliseconds may add, in milliseconds. */
const ROUNDING_MS = 5;

/**
 * What the worker owes the lease of one delivery: to ask for more when half of what is left is over,
 * whatever goes wrong elsewhere. Time in which code did not yield is not counted, nor how late timers
 * fire.
 */
export class LeaseWatch {
  readonly #world: World;
  #dueMs = Infinity;
  #untilMs = Infinity;
  #blockedMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** The worker holds the delivery, knows that the lease lasts until then, and waits for no answer. */
  known(untilMs: number): void {
    const { time: { nowMs, blockedMs }, plan: { broker } } = this.#world;
    const leftMs = untilMs - nowMs;
    if (!broker.extend || leftMs <= 0) return;
    this.#dueMs = nowMs + Math.max(leftMs / 2, Math.min(leftMs, SHORTEST_WAIT_MS));
    this.#untilMs = untilMs;
    this.#blockedMs = blockedMs;
  }

  /** The worker waits for an answer, to this question or to its settle. */
  waits(): void {
    this.#dueMs = Infinity;
  }

  /** Whether it should have asked by now, or by the end of the lease, when it gave up. */
  get overdue(): boolean {
    const { time: { nowMs, blockedMs }, plan: { lagMs } } = this.#world;
    const excusedMs = blockedMs - this.#blockedMs + LATE_TIMERS * lagMs + ROUNDING_MS;
    return Math.min(nowMs, this.#untilMs) > this.#dueMs + excusedMs;
  }
}

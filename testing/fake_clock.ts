import { type Clock, systemClock } from "../core/clock.ts";
import { turn } from "./_turn.ts";

/** A clock whose time stands still until it is told to move. */
export interface FakeClock extends Clock {
  /** How many sleeps are under way. */
  readonly pending: number;
  /**
   * Moves the time forward, ends the sleeps that fall due in their order, and lets everything they set
   * off run before the next one; the time reads as each of them asked for.
   *
   * @param ms How far, in milliseconds, 0 or more. With 0 only what is under way runs on.
   * @throws {RangeError} when `ms` is negative or not finite.
   */
  advance(ms: number): Promise<void>;
}

/** Most turns that something may yield for before the clock moves on. */
const LONGEST_CHAIN = 100;

interface Sleeper {
  readonly dueMs: number;
  readonly end: () => void;
}

/**
 * Makes a clock for tests: no test has to wait, and none depends on speed.
 *
 * A sleep of 0 or less ends without an `advance`.
 *
 * @param startMs Where the time starts, in Unix milliseconds. `@default {1760000000000}`
 * @returns The clock, for the option `clock` of a `BabelQueue`.
 *
 * @example A delayed message, without a wait
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import { fakeClock } from "@bq/core/testing";
 * import assert from "node:assert/strict";
 *
 * const clock = fakeClock();
 * const bq = new BabelQueue(memory(), { clock, deadLetter: true });
 * let handled = 0;
 * bq.handle("urn:babel:orders:remind", () => {
 *   handled += 1;
 * });
 * await bq.publish("urn:babel:orders:remind", {}, { delayMs: 3_600_000 });
 *
 * const working = bq.consume({ waitMs: 7_200_000, maxMessages: 1 });
 * await clock.advance(3_599_999);
 * assert.equal(handled, 0);
 * await clock.advance(1);
 * await working;
 * assert.equal(handled, 1);
 * await bq.close();
 * ```
 */
export function fakeClock(startMs: number = 1_760_000_000_000): FakeClock {
  let nowMs = startMs;
  // Kept in the order of falling due; among equals the earlier sleep comes first.
  const sleepers: Sleeper[] = [];
  /** Sleeps of 0 under way: each is one turn of the event loop. */
  let yields = 0;

  /** Lets everything that is under way run on, what it yields for included. */
  async function settle(): Promise<void> {
    await turn();
    for (let turns = 0; yields > 0 && turns < LONGEST_CHAIN; turns++) await turn();
  }

  return {
    now: (): number => nowMs,
    elapsed: (): number => nowMs - startMs,
    get pending(): number {
      return sleepers.length;
    },
    sleep(ms: number, signal?: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        // Not sooner than the next turn, as the contract of a clock has it.
        if (!(ms > 0)) {
          yields++;
          return resolve(turn().finally(() => yields--));
        }
        const end = (): void => {
          sleepers.splice(sleepers.indexOf(sleeper), 1);
          signal?.removeEventListener("abort", end);
          resolve();
        };
        const sleeper: Sleeper = { dueMs: nowMs + ms, end };
        const after = sleepers.findIndex((other) => other.dueMs > sleeper.dueMs);
        sleepers.splice(after < 0 ? sleepers.length : after, 0, sleeper);
        signal?.addEventListener("abort", end, { once: true });
      });
    },
    async advance(ms: number): Promise<void> {
      if (!(ms >= 0 && ms < Infinity)) {
        throw new RangeError(
          `Cannot advance the clock by ${ms} ms: it must be a finite number of at least 0`,
        );
      }
      const targetMs = nowMs + ms;
      // Real timers of 0 have their turn too, but not between the sleeps: they would take too long.
      await systemClock.sleep(0);
      for (let next = sleepers[0]; next && next.dueMs <= targetMs; next = sleepers[0]) {
        nowMs = Math.max(nowMs, next.dueMs);
        next.end();
        await settle();
      }
      nowMs = Math.max(nowMs, targetMs);
      await systemClock.sleep(0);
      await settle();
    },
  };
}

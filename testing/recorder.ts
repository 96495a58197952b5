import { systemClock } from "../core/clock.ts";
import { type BabelQueueEvent, describeEvent } from "../runtime/events.ts";

/** Names of the events. */
export type EventType = BabelQueueEvent["type"];

/** The events of one type. */
export type EventOf<Type extends EventType> = Extract<BabelQueueEvent, { readonly type: Type }>;

/** How long {@linkcode Recorder.waitFor} waits. */
export interface WaitForOptions {
  /**
   * Longest wait, in milliseconds of real time.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number;
}

/** Keeps every event; it is itself the callback for `onEvent`. */
export interface Recorder {
  /** Keeps the event. */
  (event: BabelQueueEvent): void;
  /** Every event so far, oldest first. */
  readonly events: readonly BabelQueueEvent[];
  /** The events of one type so far, oldest first. */
  of<Type extends EventType>(type: Type): EventOf<Type>[];
  /**
   * The first event of a type, or the first one that a predicate accepts; among those kept so far, or
   * as soon as it comes.
   *
   * @throws {Error} naming the events that came instead, when the time is over; what a predicate
   * throws, as it is.
   */
  waitFor<Type extends EventType>(type: Type, options?: WaitForOptions): Promise<EventOf<Type>>;
  /** The first event that a predicate accepts; otherwise the same. */
  waitFor(
    accepts: (event: BabelQueueEvent) => boolean,
    options?: WaitForOptions,
  ): Promise<BabelQueueEvent>;
}

/**
 * Makes a recorder of events.
 *
 * @returns The recorder, for the option `onEvent` of a `BabelQueue`.
 *
 * @example See what became of a message
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import { recorder } from "@bq/core/testing";
 * import assert from "node:assert/strict";
 *
 * const seen = recorder();
 * const bq = new BabelQueue(memory(), { onEvent: seen, maxAttempts: 2, deadLetter: true });
 * bq.handle("urn:babel:orders:created", () => {
 *   throw new Error("no stock");
 * });
 * await bq.publish("urn:babel:orders:created", { order_id: 1042 });
 * await bq.consume({ waitMs: 0 });
 * await bq.close();
 *
 * assert.equal(seen.of("failed").length, 2);
 * const { deadLetterQueue } = await seen.waitFor("deadLettered");
 * assert.equal(deadLetterQueue, "default.dlq");
 * ```
 */
export function recorder(): Recorder {
  const events: BabelQueueEvent[] = [];
  const watchers: Set<(event: BabelQueueEvent) => void> = new Set();

  const record = (event: BabelQueueEvent): void => {
    events.push(event);
    for (const watch of watchers) watch(event);
  };
  const waitFor = async (
    wanted: EventType | ((event: BabelQueueEvent) => boolean),
    { timeoutMs = 30_000 }: WaitForOptions = {},
  ): Promise<BabelQueueEvent> => {
    const accepts = typeof wanted === "function"
      ? wanted
      : (event: BabelQueueEvent): boolean => event.type === wanted;
    let found = events.find(accepts);
    if (found !== undefined) return found;
    const came = new AbortController();
    const watch = (event: BabelQueueEvent): void => {
      if (came.signal.aborted) return;
      try {
        if (!accepts(event)) return;
        found = event;
        came.abort();
      } catch (error) {
        // It is this caller's own, and neither the App's nor that of whoever waits for something else.
        came.abort({ error });
      }
    };
    watchers.add(watch);
    await systemClock.sleep(timeoutMs, came.signal);
    watchers.delete(watch);
    if (found !== undefined) return found;
    if (came.signal.aborted) throw (came.signal.reason as { error: unknown }).error;
    const name = typeof wanted === "function" ? "the event waited for" : `an event '${wanted}'`;
    const last = events.slice(-20).map((event) => `\n  ${describeEvent(event)}`).join("");
    throw new Error(
      `Cannot see ${name} within ${timeoutMs} ms; of ${events.length} events the last ones:${last}`,
    );
  };
  const of = <Type extends EventType>(type: Type): EventOf<Type>[] =>
    events.filter((event): event is EventOf<Type> => event.type === type);
  return Object.assign(record, { events, of, waitFor: waitFor as Recorder["waitFor"] });
}

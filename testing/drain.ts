import { systemClock } from "../core/clock.ts";
import type { BabelQueue, ConsumeResult } from "../runtime/mod.ts";

/** What {@linkcode drain} works on. */
export interface DrainOptions {
  /**
   * Name of the queue.
   *
   * @default {the App's queue}
   */
  readonly queue?: string;
  /**
   * Most messages to take; by default all there are.
   *
   * @default {undefined}
   */
  readonly maxMessages?: number;
}

/**
 * Handles what is on a queue now, without waiting for more, and throws what the handlers threw.
 *
 * @param bq The App.
 * @param options Which queue, and how much of it.
 * @returns How many messages were handled, and what became of the others.
 * @throws what a handler threw, as it is; an `AggregateError` when several failed.
 *
 * @example A failing handler fails the test
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import { drain } from "@bq/core/testing";
 * import assert from "node:assert/strict";
 *
 * const bq = new BabelQueue(memory(), { maxAttempts: 1, deadLetter: true });
 * bq.handle("urn:babel:orders:created", (data) => {
 *   assert.equal(data.order_id, 1042);
 * });
 * await bq.publish("urn:babel:orders:created", { order_id: 1042 });
 * assert.equal((await drain(bq)).handled, 1);
 *
 * await bq.publish("urn:babel:orders:created", { order_id: 7 });
 * await assert.rejects(() => drain(bq), assert.AssertionError);
 * await bq.close();
 * ```
 */
export async function drain(bq: BabelQueue, options: DrainOptions = {}): Promise<ConsumeResult> {
  const events = bq.events();
  const thrown: unknown[] = [];
  const reading = (async () => {
    for await (const event of events) {
      const here = options.queue === undefined || !("queue" in event) ||
        event.queue === options.queue;
      if (event.type === "failed" && here) thrown.push(event.error);
    }
  })();
  let counts: ConsumeResult;
  try {
    counts = await bq.consume({ ...options, waitMs: 0 });
    // One turn of the event loop, so that the reader above has seen everything.
    await systemClock.sleep(0);
  } finally {
    await events.return?.();
    await reading;
  }
  if (thrown.length === 1) throw thrown[0];
  if (thrown.length > 1) {
    throw new AggregateError(thrown, `Cannot drain: ${thrown.length} handler calls failed`);
  }
  return counts;
}

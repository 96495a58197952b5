import { BabelQueueError } from "../core/errors.ts";
import type { BabelQueue } from "../runtime/app.ts";
import type { Outgoing, Transport } from "../runtime/transport.ts";

/** How bytes are put on a queue. */
export interface InjectOptions {
  /**
   * Headers beside the body.
   *
   * @default {undefined}
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Wait before the first delivery, in milliseconds.
   *
   * @default {0}
   */
  readonly delayMs?: number;
  /**
   * Key of the message, on brokers that have one.
   *
   * @default {undefined}
   */
  readonly key?: string | Uint8Array | null;
}

/**
 * Puts any bytes on a queue as they are: what another SDK, an older one or an attacker could have sent.
 *
 * @param target A `BabelQueue`, or a transport that is open.
 * @param queue Name of the queue.
 * @param body The bytes, or a text that is sent as UTF-8.
 * @param options Headers, delay and key.
 * @throws {BabelQueueError} what the publish was refused with.
 *
 * @example A body that no handler may see
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import { inject, recorder } from "@bq/core/testing";
 * import assert from "node:assert/strict";
 *
 * const seen = recorder();
 * const bq = new BabelQueue(memory(), { queue: "orders", onEvent: seen, deadLetter: true });
 * await inject(bq, "orders", "not json");
 * await bq.consume({ waitMs: 0 });
 * await bq.close();
 * assert.equal(seen.of("poison").length, 1);
 * ```
 */
export async function inject(
  target: BabelQueue | Transport,
  queue: string,
  body: Uint8Array | string,
  options: InjectOptions = {},
): Promise<void> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  if ("publishRaw" in target) return await target.publishRaw(queue, bytes, options);
  const outgoing: Outgoing = { body: bytes, ...options };
  const [outcome] = await target.publish(queue, [outgoing]);
  if (outcome === undefined) {
    throw new BabelQueueError(
      "publish_failed",
      `Cannot inject into '${queue}': the transport gave no outcome`,
    );
  }
  if (outcome.status !== "confirmed") throw outcome.error;
}

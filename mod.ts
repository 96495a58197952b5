/**
 * BabelQueue for Deno, Bun, Node and the edge: publish and handle messages that every BabelQueue SDK
 * understands, on the broker you already run.
 *
 * @example Publish and handle
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true });
 * bq.handle("urn:babel:orders:created", (order) => {
 *   assert.equal(order.order_id, 1042);
 * });
 * await bq.publish("urn:babel:orders:created", { order_id: 1042 });
 * assert.equal((await bq.consume()).handled, 1);
 * await bq.close();
 * ```
 *
 * @module
 */

export * from "./core/mod.ts";
export * from "./runtime/mod.ts";
export * from "./transports/memory/mod.ts";

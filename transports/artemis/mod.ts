/**
 * Apache ActiveMQ Artemis, and other brokers that speak AMQP 1.0, as the broker of BabelQueue.
 *
 * @example A worker
 * ```ts
 * import { BabelQueue } from "@bq/core";
 * import { artemis } from "@bq/artemis";
 *
 * const bq = new BabelQueue(artemis("artemis://localhost:5672"), { queue: "orders", deadLetter: true });
 * bq.handle("urn:babel:orders:created", (order, ctx) => {
 *   console.log(`order ${order.order_id}, attempt ${ctx.attempt}`);
 * });
 * // await bq.run({ concurrency: 50 });
 * await bq.close();
 * ```
 *
 * @module
 */

export { artemis, type ArtemisTransport } from "./transport.ts";
export type { ArtemisOptions, TlsOptions } from "./options.ts";
export type { AmqpConnection, AmqpConnectionEvent } from "./client.ts";
export { artemisPolicy, type ArtemisPolicyOptions } from "./policy.ts";

/**
 * RabbitMQ for BabelQueue: confirmed publishes, a pushed window, durable delays.
 *
 * @example A worker
 * ```ts
 * import { BabelQueue } from "@bq/core";
 * import { rabbitmq } from "@bq/rabbitmq";
 *
 * const bq = new BabelQueue(rabbitmq("amqp://localhost"), { queue: "orders", deadLetter: true });
 * bq.handle("urn:babel:orders:created", (order, ctx) => {
 *   console.log(`order ${order.order_id}, attempt ${ctx.attempt}`);
 * });
 * // await bq.run({ concurrency: 100 });
 * await bq.close();
 * ```
 *
 * @module
 */

export { rabbitmq } from "./transport.ts";
export type { ConnectionOptions, QueueOptions, RabbitmqOptions } from "./options.ts";
export type {
  RabbitChannel,
  RabbitConfirmChannel,
  RabbitConnection,
  RabbitEmitter,
  RabbitHeaders,
  RabbitListener,
  RabbitMessage,
  RabbitProperties,
  RabbitQueueState,
} from "./client.ts";
export { rabbitmqPolicy, type RabbitmqPolicyOptions } from "./policy.ts";
export { delayQueueOf, DELAYS_MS } from "./delays.ts";

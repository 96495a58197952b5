/**
 * Redis and Valkey as the broker of BabelQueue: both layouts of the contract, safe beside Laravel and
 * the other SDKs.
 *
 * @example A worker
 * ```ts
 * import { BabelQueue } from "@bq/core";
 * import { redis } from "@bq/redis";
 *
 * const bq = new BabelQueue(redis("redis://localhost:6379/0"), { queue: "orders", deadLetter: true });
 * bq.handle("urn:babel:orders:created", (order, ctx) => {
 *   console.log(`order ${order.order_id}, attempt ${ctx.attempt}`);
 * });
 * // await bq.run({ concurrency: 50 });
 * await bq.close();
 * ```
 *
 * @module
 */

export { redis, type RedisTransport } from "./transport.ts";
export type { ConnectionOptions, RedisOptions } from "./options.ts";
export type { ConnectionListener, RedisArgument, RedisClient, RedisReply } from "./client.ts";
export type { RedisClientLike } from "./clients/adapt.ts";
export { ioredisClient, type IoredisLike } from "./clients/ioredis.ts";
export {
  nodeRedisClient,
  type NodeRedisCommandOptions,
  type NodeRedisLike,
} from "./clients/node_redis.ts";
export { type LegacyKeys, legacyKeys, type ZsetKeys, zsetKeys } from "./keys.ts";
export { delayedScore } from "./scores.ts";
export { redisPolicy, type RedisPolicyOptions } from "./policy.ts";

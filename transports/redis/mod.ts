/**
 * Redis and Valkey as the broker of BabelQueue: both layouts of the contract, safe beside Laravel and
 * the other SDKs.
 *
 * @module
 */

export { redis, type RedisTransport } from "./transport.ts";
export type { RedisOptions } from "./options.ts";
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

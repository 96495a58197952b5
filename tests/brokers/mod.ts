/**
 * Real brokers for tests, started where they are needed: the environment's, else what is installed,
 * else from the registries.
 *
 * @module
 */

export { absent, BrokerAbsentError, type RunningBroker } from "./broker.ts";
export { aroundFile, brokerOfFile } from "./lifetime.ts";
export { type CutOptions, type Proxy, startProxy } from "./proxy.ts";
export { absentRedis, type RedisOptions, startRedis } from "./redis.ts";
export { type Answer, RespClient } from "./resp.ts";

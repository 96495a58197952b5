import { BabelQueueError } from "@bq/core/transport";
import type { RedisClient } from "../client.ts";
import { ioredisClient, type IoredisLike } from "./ioredis.ts";
import { nodeRedisClient, type NodeRedisLike } from "./node_redis.ts";

/** A client that `redis({ client })` takes. */
export type RedisClientLike = RedisClient | IoredisLike | NodeRedisLike;

/**
 * Finds out what kind of client it was given and adapts it.
 *
 * @throws {BabelQueueError} `invalid_option` when the client cannot give replies as bytes, or is none.
 */
export function adapted(client: unknown): RedisClient {
  if (typeof client !== "object" || client === null) refuse("it must be a Redis client");
  const has = (name: string): boolean =>
    typeof (client as Record<string, unknown>)[name] === "function";
  if (has("callBuffer")) return ioredisClient(client as IoredisLike);
  if (has("withTypeMapping")) return nodeRedisClient(client as NodeRedisLike);
  if (has("sendCommand")) {
    refuse("this version of node-redis turns replies into text; version 5 or newer is needed");
  }
  if (has("getBuffer") && has("send")) {
    refuse(
      "this client turns replies into text, which destroys a body that is not UTF-8; " +
        "use ioredis, iovalkey, node-redis, or any client with a raw call that returns bytes",
    );
  }
  if (has("call")) return client as RedisClient;
  refuse("it has neither callBuffer(), withTypeMapping() nor call()");
}

function refuse(why: string): never {
  throw new BabelQueueError("invalid_option", `Cannot use option 'client': ${why}`);
}

/** What a worker process is told. */

import { redis, type RedisTransport } from "@bq/redis";

/** The URN of every message here; `n` in its data is the serial that is counted by. */
export const URN = "urn:babel:chaos:step";

/** The plan of one worker process. */
export interface WorkerPlan {
  /** Server, layout and lease. */
  readonly url: string;
  readonly queue: string;
  /** Whether the server is a node of a cluster. @default {false} */
  readonly cluster?: boolean;
  /** @default {4} */
  readonly concurrency?: number;
  /** How long every handler takes, in milliseconds. @default {0} */
  readonly handlerMs?: number;
  /** Handlers of this serial and above never end by themselves. @default {Infinity} */
  readonly hangFrom?: number;
  /** Handlers of every so manieth serial always throw. @default {0} */
  readonly failEvery?: number;
  /** Added to what the clock says, in milliseconds. @default {0} */
  readonly skewMs?: number;
  /** @default {10} */
  readonly maxAttempts?: number;
  /** @default {10000} */
  readonly shutdownTimeoutMs?: number;
}

/** The transport of a plan. */
export function transportOf({ url, cluster = false }: WorkerPlan): RedisTransport {
  if (!cluster) return redis(url);
  // The query of a node's URL says nothing about the transport.
  const { host, searchParams } = new URL(url);
  const layout = searchParams.has("laravel") ? "zset" : "legacy";
  const retryAfterMs = Number(searchParams.get("retry_after")) * 1_000;
  return redis({ cluster: [`redis://${host}`], layout, retryAfterMs });
}

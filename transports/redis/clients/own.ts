import type { ClusterOptions, RedisOptions } from "ioredis";
import type { RedisClient } from "../client.ts";
import type { ConnectionOptions } from "../options.ts";
import { type IoredisLike, ownedIoredis } from "./ioredis.ts";
import { untraced } from "./_tracing.ts";

/** Longest time for a connection, and in a cluster for the answer of a node, in milliseconds. */
const PATIENCE_MS = 10_000;
/** How long a socket may take to end, in milliseconds. */
const GOODBYE_MS = 200;

/** Where and how a client of this package's own connects. */
export interface Target {
  /** One server. */
  readonly url: string;
  /** Some nodes of a cluster, instead of the one server. */
  readonly cluster: readonly string[] | undefined;
  /** What the user wants beyond that. */
  readonly connection: ConnectionOptions;
}

/**
 * Makes a client of ioredis, not yet connected. A command that was sent when the connection breaks is
 * never sent again behind the transport's back, and one that cannot be sent is refused at once.
 *
 * @param target Where to connect.
 * @param opened Whether the first connection stood: before that a failure is final.
 */
export async function ownClient(target: Target, opened: () => boolean): Promise<RedisClient> {
  const { Cluster, Redis } = await import("ioredis");
  const wait = (times: number): number | null =>
    opened() ? Math.min(50 * 2 ** Math.min(times - 1, 10), 2_000) : null;
  const options: RedisOptions = {
    connectTimeout: PATIENCE_MS,
    disconnectTimeout: GOODBYE_MS,
    retryStrategy: wait,
    sentinelRetryStrategy: wait,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    // Its answer is ignored, and a server that lets nobody in gives one answer, which says why.
    disableClientInfo: true,
    ...target.connection,
    lazyConnect: true,
  };
  if (target.cluster === undefined) {
    return owned(new Redis(target.url, options as never));
  }
  const clusterOptions: ClusterOptions = {
    lazyConnect: true,
    clusterRetryStrategy: wait,
    enableOfflineQueue: false,
    // Whether a single node is silent only its own connection can tell.
    redisOptions: { socketTimeout: PATIENCE_MS, ...options },
  };
  return owned(new Cluster([...target.cluster], clusterOptions as never));
}

function owned(client: unknown): RedisClient {
  return ownedIoredis(client as IoredisLike, (one) => untraced(one as never));
}

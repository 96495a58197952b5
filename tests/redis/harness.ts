/**
 * Redis as the transport suite and the tests beside it use it: both layouts, every client, one server
 * or a cluster.
 *
 * @module
 */

import {
  ioredisClient,
  type IoredisLike,
  legacyKeys,
  redis,
  type RedisClientLike,
  type RedisOptions,
  zsetKeys,
} from "@bq/redis";
import { systemClock } from "@bq/core";
import type { HarnessTransportOptions, SuiteFeatures, TransportHarness } from "@bq/core/testing";
import { Cluster, Redis } from "ioredis";
import { Redis as Valkey } from "iovalkey";
import { createClient, createCluster } from "redis";
import { environment } from "../harness.ts";
import { freshQueue, randomBytes } from "./lab.ts";
import { type Answer, RespClient, type RunningBroker } from "../brokers/mod.ts";

/** The clients that the transport is tested with. `own` is the one it makes by itself. */
export type ClientKind = "own" | "ioredis" | "iovalkey" | "node-redis" | "raw";

/** What a harness runs on. */
export interface RedisWorld {
  readonly broker: RunningBroker;
  readonly layout: "legacy" | "zset";
  readonly client?: ClientKind;
  readonly cluster?: boolean;
  readonly options?: RedisOptions;
}

/** A lease that a test can wait for, in milliseconds. */
const SHORT_LEASE_MS = 5_000;

/** What the suite may try on Redis. Leases count whole seconds, so that a shorter one may be over at once. */
export function featuresOf(layout: "legacy" | "zset"): SuiteFeatures {
  return {
    failWrites: true,
    expireLease: true,
    leaseMs: 3_000,
    quietMs: 300,
    // What comes back is the reserved member. Contract: R47.
    recoveryCounts: layout === "zset",
  };
}

/** Tests that spend seconds waiting for a clock, and that no client makes a difference to. */
const SLOW: Readonly<Record<string, string>> = Object.fromEntries([
  "a delayed message comes in its time, or is refused where publishes cannot be delayed",
  "the wait before a retry passes",
  "the wait that a handler asks for passes",
  "a message whose record cannot be written stays, and is dead-lettered when it can",
  "a worker that cannot write records goes on with its other messages",
  "a handler that takes longer than the lease keeps its message",
  "a message whose lease has ended goes to another worker; without leases it stays",
].map((title) => [title, "run with the transport's own client"]));

/** What the suite tries with every further client and server, unless everything is asked for. */
export function quickFeatures(layout: "legacy" | "zset"): SuiteFeatures {
  return environment("BQ_TEST_REDIS") === "all"
    ? featuresOf(layout)
    : { ...featuresOf(layout), quietMs: 100, skip: SLOW };
}

/** Prepares Redis for one test of the suite. */
export function redisHarness(world: RedisWorld): TransportHarness {
  const { broker, layout, cluster = false } = world;
  const queues: string[] = [];
  const closing: (() => unknown)[] = [];
  // In a cluster a queue and the dead-letter queue that is named for it need the same hash tag.
  const tag = cluster ? `{${freshQueue()}}` : "";
  return {
    transport(options: HarnessTransportOptions = {}) {
      const { given, close } = clientOf(world);
      closing.push(close);
      return redis({
        retryAfterMs: options.leaseMs ?? SHORT_LEASE_MS,
        layout,
        ...given,
        ...world.options,
      });
    },
    queue() {
      const queue = tag + freshQueue();
      queues.push(queue);
      return queue;
    },
    async failWrites(on) {
      for (const queue of queues) {
        const dead = layout === "zset" ? zsetKeys(`${queue}.dlq`).ready : `${queue}.dlq`;
        await ask(broker, dead, ...(on ? ["SET", dead, "no list"] : ["DEL", dead]));
      }
    },
    async expireLease(queue) {
      const key = layout === "zset" ? zsetKeys(queue).reserved : legacyKeys(queue).deadlines;
      const members = await ask(broker, key, "ZRANGE", key, "0", "-1");
      for (const member of members as readonly Uint8Array[]) {
        await ask(broker, key, "ZADD", key, "1", member);
      }
      // Only a worker that looks for messages takes it back.
      await bringBack(world, queue);
    },
    async close() {
      for (const close of closing) await close();
    },
  };
}

async function bringBack(world: RedisWorld, queue: string): Promise<void> {
  const { broker, layout, cluster, options } = world;
  const transport = redis({
    ...(cluster ? { cluster: [broker.url] } : { url: broker.url }),
    layout,
    ...options,
  });
  await transport.open({ clock: systemClock, random: () => 0, bytes: randomBytes, emit: () => {} });
  const { signal } = new AbortController();
  await transport.subscribe(queue, { prefetch: 1, intake: signal, lost: () => {}, snapshot: true });
  await transport.close();
}

/** Asks the server about a key, beside the transport; in a cluster the node that has it. */
export async function ask(
  broker: RunningBroker,
  _key: string,
  ...command: (string | Uint8Array)[]
): Promise<Answer> {
  for (const port of broker.ports) {
    const client = await RespClient.connect(port);
    try {
      return await client.call(...command);
    } catch (error) {
      if (!(error as Error).message.startsWith("MOVED")) throw error;
    } finally {
      await client.close();
    }
  }
  throw new Error(`Cannot ask about '${_key}': no node has it`);
}

/** A client for a transport. */
export interface Given {
  readonly given: RedisOptions;
  close(): unknown;
}

/** The options that bring a client of this kind, and what closes it. */
export function clientOf({ broker, client = "own", cluster = false }: RedisWorld): Given {
  if (client === "own") {
    const given = cluster ? { cluster: [broker.url] } : { url: broker.url };
    return { given, close: () => {} };
  }
  const { client: made, close } = cluster ? clusterClient(client, broker) : single(client, broker);
  return { given: { client: made }, close };
}

function single(kind: ClientKind, { url }: RunningBroker): {
  client: RedisClientLike;
  close(): unknown;
} {
  if (kind === "node-redis") {
    const client = createClient({
      url,
      maintNotifications: "disabled",
      socket: { reconnectStrategy: (times: number) => Math.min(50 * times, 500) },
    });
    client.on("error", () => {});
    return { client, close: () => client.isOpen && client.destroy() };
  }
  const options = { lazyConnect: true, disconnectTimeout: 50 };
  const client = kind === "iovalkey" ? new Valkey(url, options) : new Redis(url, options);
  client.on("error", () => {});
  return { client: kind === "raw" ? raw(client) : client, close: () => ended(client) };
}

function clusterClient(kind: ClientKind, { url }: RunningBroker): {
  client: RedisClientLike;
  close(): unknown;
} {
  if (kind === "node-redis") {
    const client = createCluster({
      rootNodes: [{ url }],
      defaults: { maintNotifications: "disabled" },
    });
    client.on("error", () => {});
    return { client, close: () => client.isOpen && client.destroy() };
  }
  const client = new Cluster([url], { lazyConnect: true });
  client.on("error", () => {});
  return { client, close: () => ended(client) };
}

/** A client of somebody's own, with nothing but the raw call. */
function raw(client: IoredisLike): RedisClientLike {
  const adapted = ioredisClient(client);
  return { call: (args) => adapted.call(args) };
}

async function ended(client: IoredisLike): Promise<void> {
  if (client.status === "end" || client.status === "wait") return client.disconnect();
  const gone = new Promise((resolve) => client.on("end", resolve));
  client.disconnect();
  await gone;
}

/** What a worker process is told. */

import { artemis } from "@bq/artemis";
import type { Transport } from "@bq/core";
import { kafka } from "@bq/kafka";
import { rabbitmq } from "@bq/rabbitmq";
import { redis } from "@bq/redis";

/** The URN of every message here; `n` in its data is the serial that is counted by. */
export const URN = "urn:babel:chaos:step";

/** The plan of one worker process. */
export interface WorkerPlan {
  /** Where the broker is; of Redis the layout and the lease, too. */
  readonly url: string;
  readonly queue: string;
  /** Consumer group on Kafka. @default the queue */
  readonly group?: string;
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
export function transportOf({ url, queue, group = queue, cluster = false }: WorkerPlan): Transport {
  if (url.startsWith("artemis:")) return artemis(url);
  if (url.startsWith("amqp:")) return rabbitmq(url);
  if (url.startsWith("kafka:")) return onKafka(url, group);
  if (!cluster) return redis(url);
  // The query of a node's URL says nothing about the transport.
  const { host, searchParams } = new URL(url);
  const layout = searchParams.has("laravel") ? "zset" : "legacy";
  const retryAfterMs = Number(searchParams.get("retry_after")) * 1_000;
  return redis({ cluster: [`redis://${host}`], layout, retryAfterMs });
}

/** Retry tiers of a scene on Kafka; every worker serves them, too. */
export const KAFKA_TIERS_MS: readonly number[] = [100, 300];

/** The groups of workers, and of their re-injectors. */
export function kafkaGroup(group: string): { groupId: string; reinjectGroupId: string } {
  return { groupId: group, reinjectGroupId: `${group}-reinject` };
}

/** Short times, so that a killed member is soon missed. */
function onKafka(url: string, group: string): Transport {
  return kafka({
    url,
    ...kafkaGroup(group),
    retryTiersMs: KAFKA_TIERS_MS,
    reinject: true,
    sessionTimeoutMs: 3_000,
    rebalanceTimeoutMs: 10_000,
    heartbeatIntervalMs: 300,
    maxWaitMs: 100,
  });
}

/**
 * What the Kafka tests do beside the transport: topics, records as they lie there, groups.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import kafkajs from "kafkajs";
import { systemClock } from "@bq/core";
import {
  createTopics,
  type IncomingRecord,
  type KafkaClient,
  kafkajsClient,
  type KafkajsLike,
  type TopicOptions,
} from "@bq/kafka";
import type { TransportContext, TransportEvent } from "@bq/core/transport";
import { context } from "../_context.ts";
import type { RunningBroker } from "../brokers/mod.ts";
import { awaitTopics } from "../../transports/kafka/_inspect.ts";
import { eventually } from "../harness.ts";

/** Times that let a test see a rebalance soon, in milliseconds. */
export const FAST = {
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 20_000,
  heartbeatIntervalMs: 100,
  maxWaitMs: 50,
} as const;

/** Names a queue, a group or a topic that nobody used before. */
export function fresh(kind: string = "q"): string {
  return `${kind}-${crypto.randomUUID().slice(0, 13)}`;
}

/** A client of the tests' own. */
export interface Lab {
  /** A `Kafka` of kafkajs. */
  readonly kafka: KafkajsLike;
  /** It, adapted. */
  readonly client: KafkaClient;
  /** Makes the topics of queues. */
  topics(queues: readonly string[], options?: TopicOptions): Promise<void>;
  /** Makes one topic. */
  topic(topic: string, partitions: number): Promise<void>;
  /** Deletes one topic. */
  remove(topic: string): Promise<void>;
  /** Writes records as they are given. */
  write(topic: string, records: readonly RawRecord[]): Promise<void>;
  /** Reads everything that a topic holds. */
  read(topic: string): Promise<IncomingRecord[]>;
  /** Changes settings of topics. */
  configure(topics: readonly string[], settings: Readonly<Record<string, string>>): Promise<void>;
  /** Sums up what a group has committed on a topic. */
  committed(groupId: string, topic: string): Promise<bigint>;
  /** Disconnects. */
  close(): Promise<void>;
}

/** A record as a test writes it. */
export interface RawRecord {
  readonly value: string | Uint8Array | null;
  readonly key?: string | Uint8Array | null;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly partition?: number;
  readonly timestamp?: number;
}

/** A `Kafka` of kafkajs. */
export function kafkaOf(broker: Pick<RunningBroker, "port">): KafkajsLike {
  return new kafkajs.Kafka({
    clientId: "tests",
    brokers: [`127.0.0.1:${broker.port}`],
    logLevel: 0,
    connectionTimeout: 5_000,
    requestTimeout: 10_000,
  }) as unknown as KafkajsLike;
}

interface Admin {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  alterConfigs(options: unknown): Promise<unknown>;
  deleteTopics(options: { topics: string[] }): Promise<void>;
}

/** Opens a client of the tests' own. */
export function openLab(broker: Pick<RunningBroker, "port">): Lab {
  const kafka = kafkaOf(broker);
  const client = kafkajsClient(kafka);
  const closing: (() => Promise<void>)[] = [() => client.close()];
  return {
    kafka,
    client,
    topics: (queues, options = {}) => createTopics(client, queues, { partitions: 3, ...options }),
    async topic(topic, partitions) {
      await client.createTopics([{ topic, partitions, configs: {} }]);
      await awaitTopics(client, [topic]);
    },
    async remove(topic) {
      const admin = kafka.admin() as unknown as Admin;
      await admin.connect();
      await admin.deleteTopics({ topics: [topic] });
      await admin.disconnect();
      await eventually(async () => !(await client.partitions([topic])).has(topic));
    },
    async write(topic, records) {
      // A topic that is quite new may refuse a part of a batch, which is then sent again whole.
      const producer = kafka.producer({
        idempotent: true,
        maxInFlightRequests: 1,
        allowAutoTopicCreation: false,
      });
      await producer.connect();
      const messages = records.map(({ value, key = null, headers = {}, partition, timestamp }) => ({
        value: bufferOf(value),
        key: bufferOf(key),
        headers: headers as never,
        ...(partition === undefined ? {} : { partition }),
        timestamp: `${timestamp ?? Date.now()}`,
      }));
      await producer.send({ topic, acks: -1, messages });
      await producer.disconnect();
    },
    read: (topic) => readAll(client, topic),
    async configure(topics, settings) {
      const admin = kafka.admin() as unknown as Admin;
      await admin.connect();
      await admin.alterConfigs({
        validateOnly: false,
        resources: topics.map((name) => ({
          type: 2,
          name,
          configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
        })),
      });
      await admin.disconnect();
      await eventually(async () => {
        const now = await client.configs(topics);
        return topics.every((topic) =>
          Object.entries(settings).every(([name, value]) => now.get(topic)?.get(name) === value)
        );
      });
      // What the broker tells is a moment ahead of what it does.
      await new Promise((resolve) => setTimeout(resolve, 200));
    },
    async committed(groupId, topic) {
      const offsets = await client.committed(groupId, topic);
      return [...offsets.values()].reduce((sum, offset) => sum + offset, 0n);
    },
    async close() {
      for (const close of closing) await close();
    },
  };
}

function bufferOf(value: string | Uint8Array | null): Buffer | null {
  return value === null ? null : Buffer.from(value as Uint8Array);
}

/** A broker that has just come up needs a moment until it knows its groups. */
function readAll(client: KafkaClient, topic: string): Promise<IncomingRecord[]> {
  return eventually(() => readOnce(client, topic), { timeoutMs: 60_000 });
}

async function readOnce(client: KafkaClient, topic: string): Promise<IncomingRecord[]> {
  const ranges = await client.ranges(topic);
  const ends = new Map(
    ranges.filter(({ low, high }) => low < high).map((one) => [one.partition, one.high] as const),
  );
  if (ends.size === 0) return [];
  const found: IncomingRecord[] = [];
  const done = Promise.withResolvers<void>();
  const consumer = client.consumer({
    ...FAST,
    groupId: fresh("reader"),
    topics: [topic],
    maxBytesPerPartition: 1_048_576,
    clock: systemClock,
    events: {
      assigned: () => [],
      failed: (error) => done.reject(error),
      records({ partition }, records, next) {
        found.push(...records);
        const end = ends.get(partition);
        if (end !== undefined && next >= end) ends.delete(partition);
        if (ends.size === 0) done.resolve();
        return undefined;
      },
    },
  });
  // A start that fails may be told to both.
  done.promise.catch(() => {});
  try {
    await consumer.start();
    await done.promise;
  } finally {
    await consumer.stop();
  }
  return found.sort((a, b) => a.partition - b.partition || Number(a.offset - b.offset));
}

/** What the runtime would hand a transport, with the events collected. */
export function contextOf(events: TransportEvent[] = []): TransportContext {
  return context({ emit: (event) => void events.push(event) });
}

/** Headers of a record as text, in their order. */
export function headersOf({ headers }: Pick<IncomingRecord, "headers">): [string, string | null][] {
  return headers.map(([name, value]) => [name, value === null ? null : text(value)]);
}

/** Bytes as text. */
export function text(bytes: Uint8Array | string | null): string {
  if (typeof bytes === "string") return bytes;
  return new TextDecoder().decode(bytes ?? new Uint8Array(0));
}

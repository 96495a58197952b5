/**
 * The topics that a queue needs: its own, its tiers', its dead letters'; how they are made, and what is
 * wrong with them.
 *
 * @module
 */

import { systemClock } from "@bq/core/transport";
import { awaitTopics } from "./_inspect.ts";
import { patiently } from "./_patience.ts";
import type { KafkaClient, NewTopic } from "./client.ts";
import { retryTopic } from "./tiers.ts";

/** What a queue's topics depend on. */
export interface TopicOptions {
  /**
   * The retry tiers.
   *
   * @default {[]}
   */
  readonly retryTiersMs?: readonly number[];
  /**
   * What stands before the name of the queue.
   *
   * @default {""}
   */
  readonly prefix?: string;
  /**
   * Partitions of each topic: the most handlers of all workers together that can be at work on a queue.
   *
   * @default {undefined}
   */
  readonly partitions?: number;
  /**
   * Replicas of each topic.
   *
   * @default {undefined}
   */
  readonly replicas?: number;
}

/** What is wrong with a topic. */
export interface TopicFinding {
  /** The topic. */
  readonly topic: string;
  /** What is wrong. */
  readonly code: "missing" | "create_time" | "retention" | "compact";
  /** The same in a sentence. */
  readonly message: string;
}

const DAY_MS = 86_400_000;
/** Waits on a tier come on top of the longest time that the re-injector may be down. */
const RETENTION_DAYS = 7;

/**
 * By the broker's own clock, or an old message would fall to the topic's retention as soon as it is
 * written; and never compacted, or of the messages with one key only the last would stay.
 */
const SETTINGS = { "message.timestamp.type": "LogAppendTime", "cleanup.policy": "delete" };
/** Dead letters stay until somebody has seen to them. */
const FOR_EVER = { "retention.ms": "-1" };

/**
 * Names the topics that a queue needs, with their settings: times are the broker's own, a record on a
 * tier may not end before its wait, and a dead letter does not end at all. Contract: K20, G34, K45.
 *
 * @param queue Name of the queue.
 * @param options Its tiers.
 * @returns The work topic, the tiers in order, and the dead-letter topic.
 */
export function topicsFor(queue: string, options: TopicOptions = {}): NewTopic[] {
  const { retryTiersMs = [], prefix = "", partitions, replicas } = options;
  const size = {
    ...(partitions === undefined ? {} : { partitions }),
    ...(replicas === undefined ? {} : { replicas }),
  };
  const work = prefix + queue;
  return [
    { topic: work, configs: SETTINGS, ...size },
    ...retryTiersMs.map((tierMs, index) => ({
      topic: retryTopic(work, index + 1),
      configs: {
        ...SETTINGS,
        "retention.ms": `${tierMs + RETENTION_DAYS * DAY_MS}`,
      },
      ...size,
    })),
    { topic: `${work}.dlq`, configs: { ...SETTINGS, ...FOR_EVER }, ...size },
  ];
}

/**
 * Makes the topics of queues as far as they are missing, and waits until the broker knows of them. What
 * is there already is not changed; {@linkcode checkTopics} says whether it will do.
 *
 * @param client A client, for instance `kafkajsClient(new Kafka({ … }))`.
 * @param queues Names of the queues.
 * @param options Their tiers, partitions and replicas.
 * @throws {ConnectionError} when the broker does not know of them after 30 s.
 *
 * @example Before the first start
 * ```ts ignore
 * const client = kafkajsClient(new kafkajs.Kafka({ brokers: ["localhost:9092"] }));
 * await createTopics(client, ["orders"], { retryTiersMs: DEFAULT_RETRY_TIERS_MS, partitions: 6 });
 * await client.close();
 * ```
 */
export async function createTopics(
  client: KafkaClient,
  queues: readonly string[],
  options: TopicOptions = {},
): Promise<void> {
  const wanted = queues.flatMap((queue) => topicsFor(queue, options));
  const there = await patiently(
    systemClock,
    () => client.partitions(wanted.map(({ topic }) => topic)),
  );
  const missing = wanted.filter(({ topic }) => !there.has(topic));
  if (missing.length === 0) return;
  await client.createTopics(missing);
  await awaitTopics(client, missing.map(({ topic }) => topic));
}

/**
 * Looks for topics of queues that are missing, or whose settings would end a wait early or lose a
 * record: compaction on any of them, timestamps and retention of the tiers. A missing dead-letter topic is only found where `deadLetter` says that it is needed.
 * Contract: K45.
 *
 * @param client A client.
 * @param queues Names of the queues.
 * @param options Their tiers.
 * @returns What is wrong; empty when nothing is.
 */
export async function checkTopics(
  client: KafkaClient,
  queues: readonly string[],
  options: TopicOptions & {
    /**
     * Whether records of dead letters are written.
     *
     * @default {true}
     */
    readonly deadLetter?: boolean;
  } = {},
): Promise<TopicFinding[]> {
  const { retryTiersMs = [], deadLetter = true, prefix = "" } = options;
  const wanted = queues.flatMap((queue) => topicsFor(queue, options))
    .filter(({ topic }) => deadLetter || !topic.endsWith(".dlq"))
    .map(({ topic }) => topic);
  const [there, configs] = await patiently(systemClock, async () => {
    const there = await client.partitions(wanted);
    const existing = wanted.filter((topic) => there.has(topic));
    return [there, existing.length === 0 ? new Map() : await client.configs(existing)];
  });
  const existing = wanted.filter((topic) => there.has(topic));
  const tiers = new Set(
    queues.flatMap((queue) => retryTiersMs.map((_, tier) => retryTopic(prefix + queue, tier + 1))),
  );
  const largestMs = retryTiersMs.at(-1) ?? 0;
  return [
    ...wanted.filter((topic) => !there.has(topic)).map((topic): TopicFinding => ({
      topic,
      code: "missing",
      message: `the topic '${topic}' does not exist`,
    })),
    ...existing.flatMap((topic) => {
      const settings: ReadonlyMap<string, string> = configs.get(topic) ?? new Map();
      const compacted = compactions(topic, settings);
      return tiers.has(topic) ? [...compacted, ...findings(topic, settings, largestMs)] : compacted;
    }),
  ];
}

function compactions(topic: string, configs: ReadonlyMap<string, string>): TopicFinding[] {
  const cleanup = configs.get("cleanup.policy") ?? "delete";
  if (!cleanup.includes("compact")) return [];
  const message =
    `the topic '${topic}' is compacted (cleanup.policy=${cleanup}): of the messages ` +
    "with one key only the last stays, and one without a key is refused; set cleanup.policy=delete";
  return [{ topic, code: "compact", message }];
}

function findings(
  topic: string,
  configs: ReadonlyMap<string, string>,
  largestMs: number,
): TopicFinding[] {
  const found: TopicFinding[] = [];
  const timestamps = configs.get("message.timestamp.type");
  if (timestamps !== undefined && timestamps !== "LogAppendTime") {
    const message =
      `the topic '${topic}' keeps the timestamps of whoever writes: a wait counted from an old one ` +
      "ends at once; set message.timestamp.type=LogAppendTime";
    found.push({ topic, code: "create_time", message });
  }
  const retentionMs = Number(configs.get("retention.ms") ?? -1);
  if (retentionMs >= 0 && retentionMs <= largestMs) {
    const message =
      `the topic '${topic}' keeps records for ${retentionMs} ms, which is no longer than the ` +
      `largest tier of ${largestMs} ms; raise retention.ms`;
    found.push({ topic, code: "retention", message });
  }
  return found;
}

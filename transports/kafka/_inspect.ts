import { type Clock, ConnectionError, type QueueSize, systemClock } from "@bq/core/transport";
import { connectionError, NotYetError } from "./_errors.ts";
import { patiently } from "./_patience.ts";
import type { KafkaClient } from "./client.ts";
import type { ResolvedOptions } from "./options.ts";
import { retryTopic } from "./tiers.ts";

/** How long the brokers may take to know of topics that were made, in milliseconds. */
const MADE_MS = 30_000;

/**
 * Waits until topics that were made can be used: a controller says that they are there before the
 * brokers have heard of them, and of who leads them.
 *
 * @throws {ConnectionError} when they cannot be used after 30 s.
 */
export async function awaitTopics(client: KafkaClient, topics: readonly string[]): Promise<void> {
  const usable = async (): Promise<void> => {
    const there = await client.partitions(topics);
    const unknown = topics.find((topic) => !there.has(topic));
    if (unknown !== undefined) {
      throw new NotYetError(
        `Cannot use the topic '${unknown}': the broker does not know of it ${MADE_MS} ms after it was made`,
      );
    }
    for (const topic of topics) await client.ranges(topic);
  };
  try {
    await patiently(systemClock, usable, { patienceMs: MADE_MS });
  } catch (error) {
    throw connectionError(`use the topics '${topics.join("', '")}'`, error);
  }
}

/**
 * Makes sure that a topic is there. A group could be joined without it, and would wait in silence.
 *
 * @throws {ConnectionError} when it is not; trying again helps once it is made.
 */
export async function assertTopic(
  client: KafkaClient,
  queue: string,
  topic: string,
  clock: Clock,
): Promise<void> {
  const doing = `subscribe to '${queue}'`;
  const there = await patiently(clock, () => client.partitions([topic])).catch((error) => {
    throw connectionError(doing, error);
  });
  if (there.has(topic)) return;
  throw new ConnectionError(`Cannot ${doing}: the topic '${topic}' does not exist`);
}

/**
 * Where the partitions of a topic end that hold something a group has not read.
 *
 * @param client A client.
 * @param groupId The group.
 * @param topic The topic.
 * @param queue The queue, for the message.
 * @param clock Time.
 * @throws {ConnectionError} when that cannot be known.
 */
export async function unread(
  client: KafkaClient,
  groupId: string,
  topic: string,
  queue: string,
  clock: Clock,
): Promise<ReadonlyMap<number, bigint>> {
  try {
    const ranges = await patiently(clock, () => client.ranges(topic));
    const committed = await patiently(clock, () => client.committed(groupId, topic));
    return new Map(
      ranges
        .filter(({ partition, low, high }) => largest(committed.get(partition), low) < high)
        .map(({ partition, high }) => [partition, high]),
    );
  } catch (error) {
    throw connectionError(`subscribe to '${queue}'`, error);
  }
}

/**
 * Counts a queue: the records behind what its group and the re-injectors' have committed.
 *
 * @param client A client.
 * @param options Groups and tiers.
 * @param topic The work topic.
 * @param inFlight How many of its records are in hand.
 */
export async function sizeOf(
  client: KafkaClient,
  options: ResolvedOptions,
  topic: string,
  inFlight: number,
): Promise<QueueSize> {
  const { groupId, reinjectGroupId, tiersMs } = options;
  const tiers = tiersMs.map((_, index) => retryTopic(topic, index + 1));
  const there = await client.partitions([topic, ...tiers]);
  const waiting = there.has(topic) ? await lag(client, groupId, topic) : 0;
  let delayed = 0;
  for (const tier of tiers) {
    if (there.has(tier)) delayed += await lag(client, reinjectGroupId, tier);
  }
  return { ready: Math.max(0, waiting - inFlight), delayed, inFlight };
}

async function lag(client: KafkaClient, groupId: string, topic: string): Promise<number> {
  const [ranges, committed] = await Promise.all([
    client.ranges(topic),
    client.committed(groupId, topic),
  ]);
  let sum = 0n;
  for (const { partition, low, high } of ranges) {
    const from = largest(committed.get(partition), low);
    if (high > from) sum += high - from;
  }
  return Number(sum);
}

function largest(committed: bigint | undefined, low: bigint): bigint {
  return committed !== undefined && committed > low ? committed : low;
}

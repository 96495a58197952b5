/**
 * Retry tiers: topics on which a record waits, one delay each. A tier's number is its place in the
 * list, so every program on the topics has to have the same list.
 *
 * @module
 */

import { BabelQueueError, refuseOption } from "@bq/core/transport";

/** The recommended tiers: 5 seconds, 30 seconds, 5 minutes, 30 minutes. Contract: K20. */
export const DEFAULT_RETRY_TIERS_MS: readonly number[] = Object.freeze([
  5_000,
  30_000,
  300_000,
  1_800_000,
]);

/** Most characters of a topic's name. */
const LONGEST_NAME = 249;

/** A tier of a work topic. */
export interface Tier {
  /** Its number, from 1. */
  readonly number: number;
  /** How long a record waits on it, in milliseconds. */
  readonly delayMs: number;
}

/** Checks a list of tiers: whole milliseconds that rise. It is never sorted. Contract: K21. */
export function checkTiers(name: string, value: unknown): void {
  const bound = "a list of positive whole milliseconds, each larger than the one before";
  if (!Array.isArray(value)) return refuseOption(name, value, bound);
  let before = 0;
  for (const delayMs of value) {
    if (!Number.isSafeInteger(delayMs) || delayMs <= before) {
      // The list as it is: a bare "array" would not say which one is wrong.
      refuseOption(name, `[${value.join(", ")}]`, bound);
    }
    before = delayMs;
  }
}

/**
 * Name of a tier's topic. Contract: K20.
 *
 * @param workTopic The work topic.
 * @param tier Number of the tier, from 1.
 */
export function retryTopic(workTopic: string, tier: number): string {
  return `${workTopic}.retry.${tier}`;
}

/**
 * Name of a queue's topic. Contract: K3.
 *
 * @param prefix What stands before the name of every queue.
 * @param queue Name of the queue.
 * @throws {BabelQueueError} `invalid_option` when no topic can have that name.
 */
export function topicOf(prefix: string, queue: string): string {
  const topic = prefix + queue;
  const usable = queue !== "" && topic !== "." && topic !== ".." &&
    topic.length <= LONGEST_NAME && /^[a-zA-Z0-9._-]+$/.test(topic);
  if (usable) return topic;
  throw new BabelQueueError(
    "invalid_option",
    `Cannot use queue '${queue}': the name of a Kafka topic has 1 to ${LONGEST_NAME} letters, digits, '.', '_' and '-', not only one or two dots`,
  );
}

/**
 * The work topic that a tier's topic belongs to. Contract: K43.
 *
 * @param topic The tier's topic.
 * @returns The name without `.retry.<n>`; null when it does not end like that.
 */
export function workTopicOf(topic: string): string | null {
  return /^(.+)\.retry\.[1-9][0-9]*$/s.exec(topic)?.[1] ?? null;
}

/**
 * Picks the tier of a retry: the next one with every attempt, the last one from then on.
 * Contract: K22.
 *
 * @param tiersMs The tiers.
 * @param attemptsBefore Earlier deliveries before the one that failed, from 0.
 * @throws {BabelQueueError} `unsupported` when there are no tiers. Contract: K25.
 */
export function retryTier(tiersMs: readonly number[], attemptsBefore: number): Tier {
  const index = Math.min(Math.max(0, attemptsBefore), tiersMs.length - 1);
  const delayMs = tiersMs[index];
  if (delayMs === undefined) throw noTiers("retry a record");
  return { number: index + 1, delayMs };
}

/**
 * Picks the tier of a delayed publish: the smallest that is long enough. Contract: K22.
 *
 * @param tiersMs The tiers.
 * @param delayMs The delay that was asked for.
 * @param topic The work topic, for the message.
 * @throws {BabelQueueError} `unsupported` when no tier is long enough, or there is none.
 */
export function delayTier(tiersMs: readonly number[], delayMs: number, topic: string): Tier {
  const index = tiersMs.findIndex((tierMs) => tierMs >= delayMs);
  const tierMs = tiersMs[index];
  if (tierMs !== undefined) return { number: index + 1, delayMs: tierMs };
  const largest = tiersMs.at(-1);
  if (largest === undefined) throw noTiers(`delay a message to '${topic}' by ${delayMs} ms`);
  throw new BabelQueueError(
    "unsupported",
    `Cannot publish to '${topic}': delay ${delayMs} ms exceeds the largest retry tier of ${largest} ms`,
  );
}

function noTiers(verb: string): BabelQueueError {
  return new BabelQueueError(
    "unsupported",
    `Cannot ${verb}: Kafka has no delays of its own, and no retry tiers are set`,
  );
}

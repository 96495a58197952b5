import type { TopicPartition } from "./client.ts";

/** A partition as the key of a map. */
export function keyOf({ topic, partition }: TopicPartition): string {
  return `${partition} ${topic}`;
}

/** The partition that a key stands for. */
export function partitionOf(key: string): TopicPartition {
  const space = key.indexOf(" ");
  return { topic: key.slice(space + 1), partition: Number(key.slice(0, space)) };
}

/**
 * Where a record goes: by its key as the Java clients do it, so that every program puts a key into the
 * same partition; without a key to each partition in turn.
 */

const SEED = 0x9747b28c;
const M = 0x5bd1e995;

/** MurmurHash2 of 32 bits, with the seed of Kafka's clients. */
export function murmur2(bytes: Uint8Array): number {
  const { length } = bytes;
  let hash = SEED ^ length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    let k = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16 | bytes[at + 3]! << 24;
    k = Math.imul(k, M);
    k ^= k >>> 24;
    hash = Math.imul(hash, M) ^ Math.imul(k, M);
  }
  const rest = length - at;
  if (rest === 3) hash ^= bytes[at + 2]! << 16;
  if (rest >= 2) hash ^= bytes[at + 1]! << 8;
  if (rest >= 1) hash = Math.imul(hash ^ bytes[at]!, M);
  hash = Math.imul(hash ^ hash >>> 13, M);
  return hash ^ hash >>> 15;
}

/** Picks the partition of a record. */
export class Partitioner {
  readonly #turns: Map<string, number> = new Map();

  /**
   * @param topic The topic.
   * @param key The record's key.
   * @param count How many partitions the topic has.
   * @returns A number below `count`.
   */
  pick(topic: string, key: Uint8Array | null, count: number): number {
    if (key !== null) return (murmur2(key) & 0x7fffffff) % count;
    const turn = this.#turns.get(topic) ?? 0;
    this.#turns.set(topic, turn + 1);
    return turn % count;
  }
}

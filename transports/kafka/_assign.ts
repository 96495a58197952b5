/**
 * How partitions are shared within a group: the assignors that every Kafka client knows, by their
 * standard names, so that programs of any language share a group. Whoever leads assigns every member's
 * topics, not only its own.
 */

/** A member, and what it wants. */
export interface Member {
  /** Its id. */
  readonly memberId: string;
  /** Its topics. */
  readonly topics: readonly string[];
}

/** The partitions of a member: topic to numbers. */
export type Assignment = Readonly<Record<string, readonly number[]>>;

/** Shares partitions: from members and the partition counts of their topics to each member's share. */
export type Assign = (
  members: readonly Member[],
  counts: ReadonlyMap<string, number>,
) => ReadonlyMap<string, Assignment>;

/** By their standard names, the preferred one first. */
export const ASSIGNORS: ReadonlyMap<string, Assign> = new Map<string, Assign>([
  ["range", range],
  ["roundrobin", roundRobin],
]);

/** Every topic that a member wants, in order. */
export function topicsOf(members: readonly Member[]): string[] {
  return [...new Set(members.flatMap(({ topics }) => topics))].sort();
}

/** Per topic: its partitions in a row, cut into a piece for each member that wants it. */
export function range(
  members: readonly Member[],
  counts: ReadonlyMap<string, number>,
): ReadonlyMap<string, Assignment> {
  const shares = new Shares(members);
  for (const topic of topicsOf(members)) {
    const takers = shares.sorted.filter(({ topics }) => topics.includes(topic));
    const count = counts.get(topic) ?? 0;
    const least = Math.floor(count / takers.length);
    const more = count % takers.length;
    let next = 0;
    takers.forEach(({ memberId }, place) => {
      const until = next + least + (place < more ? 1 : 0);
      while (next < until) shares.give(memberId, topic, next++);
    });
  }
  return shares.all;
}

/** All partitions in turn, to the next member that wants the topic. */
export function roundRobin(
  members: readonly Member[],
  counts: ReadonlyMap<string, number>,
): ReadonlyMap<string, Assignment> {
  const shares = new Shares(members);
  let turn = 0;
  for (const topic of topicsOf(members)) {
    for (let partition = 0; partition < (counts.get(topic) ?? 0); partition++) {
      while (!shares.sorted[turn % members.length]!.topics.includes(topic)) turn++;
      shares.give(shares.sorted[turn++ % members.length]!.memberId, topic, partition);
    }
  }
  return shares.all;
}

class Shares {
  readonly sorted: readonly Member[];
  readonly #all: Map<string, Record<string, number[]>>;

  constructor(members: readonly Member[]) {
    this.sorted = [...members].sort((a, b) => a.memberId < b.memberId ? -1 : 1);
    this.#all = new Map(
      this.sorted.map((
        { memberId },
      ) => [memberId, Object.create(null) as Record<string, number[]>]),
    );
  }

  get all(): ReadonlyMap<string, Assignment> {
    return this.#all;
  }

  give(memberId: string, topic: string, partition: number): void {
    const share = this.#all.get(memberId)!;
    (share[topic] ??= []).push(partition);
  }
}

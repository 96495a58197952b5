import type { Consumer } from "@platformatic/kafka";
import type {
  ConsumerSetup,
  IncomingRecord,
  KafkaConsumer,
  PartitionOffset,
  TopicPartition,
} from "../client.ts";
import { range } from "../_assign.ts";
import { isMovedOn, isOutOfRange } from "../_errors.ts";
import { keyOf } from "../_partition.ts";
import { incomingRecords, type RecordsBatch } from "./_platformatic_records.ts";
import type { PlatformaticModule } from "./platformatic.ts";

/** Wait before what failed is tried again, in milliseconds. */
const AGAIN_MS = 200;
/** How often in a row a fetch or a join may fail before the member gives up. */
const LARGEST_FAILURES = 20;
/** Stand for the first and for the next offset of a partition. */
export const EARLIEST = -2n;
export const LATEST = -1n;

interface Place extends TopicPartition {
  offset: bigint | undefined;
  full: boolean;
}

interface JoinEvent {
  readonly memberId: string;
  readonly assignments?: readonly { readonly topic: string; readonly partitions: number[] }[];
}

/** A member of a group, on `@platformatic/kafka`: joins and signs of life are the client's, fetches are made here. */
export class PlatformaticMember implements KafkaConsumer {
  readonly #load: () => Promise<PlatformaticModule>;
  readonly #common: Record<string, unknown>;
  readonly #setup: ConsumerSetup;
  readonly #stopping: AbortController = new AbortController();
  #member: Consumer | undefined;
  /** A second one, since an answer that the broker holds back would hold up commits on its connection. */
  #fetcher: Consumer | undefined;
  #places: Map<string, Place> = new Map();
  #generation = 0;
  /** Whether the broker knew no such place in some partition. */
  #unsure = false;
  #fetching: Promise<void> | undefined;

  /**
   * @param load Imports the client.
   * @param common Options of the client.
   * @param setup How it works.
   */
  constructor(
    load: () => Promise<PlatformaticModule>,
    common: Record<string, unknown>,
    setup: ConsumerSetup,
  ) {
    this.#load = load;
    this.#common = common;
    this.#setup = setup;
  }

  async start(): Promise<void> {
    const { Consumer } = await this.#load();
    const { groupId, topics } = this.#setup;
    // The client's own way to try again would commit as whatever member it is by then.
    const options = { ...this.#common, groupId, retries: 0 };
    const member: Consumer = new Consumer(options as never);
    this.#member = member;
    this.#fetcher = new Consumer(options as never);
    member.on("consumer:group:join" as never, ((event: JoinEvent) => this.#joined(event)) as never);
    member.on("error" as never, (() => void this.#rejoin()) as never);
    for (const topic of topics) {
      member.topics.track(topic);
      this.#fetcher.topics.track(topic);
    }
    try {
      await this.#join();
    } catch (error) {
      await this.stop().catch(() => {});
      throw error;
    }
    this.#fetching = this.#fetch();
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    await this.#member?.commit({
      offsets: offsets.map((place) => ({ ...place, leaderEpoch: -1 })),
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#fetching;
    await Promise.allSettled([this.#member?.close(true), this.#fetcher?.close(true)]);
  }

  async #join(): Promise<void> {
    const { sessionTimeoutMs, rebalanceTimeoutMs, heartbeatIntervalMs, clock } = this.#setup;
    for (let failures = 0;; failures++) {
      try {
        await this.#member!.joinGroup({
          sessionTimeout: sessionTimeoutMs,
          rebalanceTimeout: rebalanceTimeoutMs,
          heartbeatInterval: heartbeatIntervalMs,
          protocols: [{ name: "range", version: 0 }],
          partitionAssigner: assign,
        } as never);
        return;
      } catch (error) {
        const again = isMovedOn(error) && failures < LARGEST_FAILURES;
        if (!again || this.#stopping.signal.aborted) throw error;
        await clock.sleep(AGAIN_MS, this.#stopping.signal);
      }
    }
  }

  async #rejoin(): Promise<void> {
    if (this.#stopping.signal.aborted || this.#fetching === undefined) return;
    try {
      await this.#join();
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    void this.stop();
    this.#setup.events.failed(error as Error);
  }

  #joined({ memberId, assignments = [] }: JoinEvent): void {
    if (this.#stopping.signal.aborted) return;
    this.#generation++;
    const partitions = assignments.flatMap(({ topic, partitions }) =>
      partitions.map((partition): TopicPartition => ({ topic, partition }))
    );
    const goOn = new Map(
      this.#setup.events.assigned(memberId, partitions).map((
        place,
      ) => [keyOf(place), place.offset]),
    );
    const before = this.#places;
    this.#places = new Map(partitions.map((place) => {
      const key = keyOf(place);
      const offset = goOn.get(key);
      const kept = offset === undefined ? undefined : before.get(key);
      return [key, kept ?? { ...place, offset, full: false }];
    }));
  }

  async #fetch(): Promise<void> {
    const { clock } = this.#setup;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted;) {
      try {
        await this.#locate();
        await this.#fetchOnce();
        failures = 0;
      } catch (error) {
        if (++failures > LARGEST_FAILURES) return this.#failed(error);
        if (isOutOfRange(error)) this.#unsure = true;
        await clock.sleep(Math.min(AGAIN_MS * failures, 2_000), signal);
      }
    }
  }

  /**
   * Finds where the partitions begin that are new: at the last commit, else at their first record. What
   * is not in its partition, or not any more, begins at the first record too.
   */
  async #locate(): Promise<void> {
    const fresh = [...this.#places.values()].filter(({ offset }) =>
      this.#unsure || offset === undefined
    );
    if (fresh.length === 0) return;
    const member = this.#member!;
    const topics = [...new Set(fresh.map(({ topic }) => topic))].map((topic) => ({
      topic,
      partitions: fresh.filter((place) => place.topic === topic).map(({ partition }) => partition),
    }));
    const committed = await member.listCommittedOffsets({ topics });
    const names = topics.map(({ topic }) => topic);
    const low = await member.listOffsets({ topics: names, timestamp: EARLIEST });
    const high = await member.listOffsets({ topics: names, timestamp: LATEST });
    for (const place of fresh) {
      const { topic, partition } = place;
      const known = place.offset ?? committed.get(topic)?.[partition] ?? -1n;
      const first = low.get(topic)?.[partition] ?? 0n;
      const there = known >= first && known <= (high.get(topic)?.[partition] ?? known);
      place.offset = there ? known : first;
    }
    this.#unsure = false;
  }

  async #fetchOnce(): Promise<void> {
    const { clock, maxWaitMs } = this.#setup;
    const wanted = [...this.#places.values()].filter(({ full, offset }) =>
      !full && offset !== undefined
    );
    if (wanted.length === 0) return await clock.sleep(maxWaitMs, this.#stopping.signal);
    const metadata = await this.#fetcher!.metadata({ topics: [...this.#setup.topics] });
    const byNode = new Map<number, Place[]>();
    for (const place of wanted) {
      const leader = metadata.topics.get(place.topic)?.partitions[place.partition]?.leader;
      if (leader !== undefined) byNode.set(leader, [...byNode.get(leader) ?? [], place]);
    }
    const generation = this.#generation;
    const nodes = [...byNode].map(([node, places]) => this.#fetchFrom(node, places, metadata));
    for (const one of await Promise.allSettled(nodes)) {
      if (one.status === "rejected") throw one.reason;
      // The group has been joined anew: whose these are is not known any more.
      if (generation === this.#generation) { for (const deliver of one.value) deliver(); }
    }
  }

  async #fetchFrom(
    node: number,
    places: readonly Place[],
    metadata: { readonly topics: ReadonlyMap<string, { readonly id: string }> },
  ): Promise<(() => void)[]> {
    const { maxWaitMs, maxBytesPerPartition } = this.#setup;
    const topics = [...new Set(places.map(({ topic }) => topic))];
    const ids = new Map(topics.map((topic) => [metadata.topics.get(topic)?.id ?? "", topic]));
    const response = await this.#fetcher!.fetch({
      node,
      maxWaitTime: maxWaitMs,
      minBytes: 1,
      topics: [...ids].map(([topicId, topic]) => ({
        topicId,
        partitions: places.filter((place) => place.topic === topic).map((place) => ({
          partition: place.partition,
          currentLeaderEpoch: -1,
          fetchOffset: place.offset!,
          lastFetchedEpoch: -1,
          partitionMaxBytes: maxBytesPerPartition,
        })),
      })),
    });
    return response.responses.flatMap(({ topicId, partitions }) =>
      partitions.map(({ partitionIndex, records }) => (): void => {
        const place = this.#places.get(
          keyOf({ topic: ids.get(topicId) ?? "", partition: partitionIndex }),
        );
        if (place !== undefined) this.#deliver(place, (records ?? []) as RecordsBatch[]);
      })
    );
  }

  #deliver(place: Place, batches: readonly RecordsBatch[]): void {
    if (batches.length === 0) return;
    const { topic, partition } = place;
    const from = place.offset!;
    const records: IncomingRecord[] = [];
    for (const batch of batches) {
      for (const record of incomingRecords(topic, partition, batch)) {
        if (record.offset >= from) records.push(record);
      }
      const next = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n;
      if (next > place.offset!) place.offset = next;
    }
    const full = this.#setup.events.records({ topic, partition }, records, place.offset!);
    if (full === undefined) return;
    place.full = true;
    void full.then(() => {
      place.full = false;
    });
  }
}

interface Members extends ReadonlyMap<string, { readonly topics?: readonly string[] }> {}

/** Shares as the `range` of every client does, over the topics of all members. */
function assign(
  _own: string,
  members: Members,
  _topics: unknown,
  metadata: { readonly topics: ReadonlyMap<string, { readonly partitionsCount: number }> },
): unknown {
  const wanted = [...members].map(([memberId, { topics = [] }]) => ({ memberId, topics }));
  const counts = new Map(
    [...metadata.topics].map(([topic, { partitionsCount }]) => [topic, partitionsCount]),
  );
  return [...range(wanted, counts)].map(([memberId, share]) => ({
    memberId,
    assignments: new Map(
      Object.entries(share).map(([topic, partitions]) => [
        topic,
        { topic, partitions: [...partitions] },
      ]),
    ),
  }));
}

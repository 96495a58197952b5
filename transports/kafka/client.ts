/**
 * What the transport needs of a Kafka client: records out, records of a group in, and what is to be
 * known about topics. Ready clients are adapted to it; any other client can be.
 *
 * @module
 */

import type { Clock, SignalOptions } from "@bq/core/transport";

/** The headers of a record in their order; a name may be there more than once, a value may be absent. Read from a topic they are bytes; text is written as UTF-8. */
export type RecordHeaders = readonly (readonly [name: string, value: Uint8Array | string | null])[];

/** A record to be written. */
export interface OutgoingRecord {
  /** Topic, with its prefix. */
  readonly topic: string;
  /** The value; null is a record without one. */
  readonly value: Uint8Array | null;
  /** The key; null and empty are different. */
  readonly key: Uint8Array | null;
  /** The headers. */
  readonly headers: RecordHeaders;
  /** When it was made, in Unix milliseconds; a topic with `LogAppendTime` does not keep it. */
  readonly timestampMs: number;
}

/** A record as it was read. */
export interface IncomingRecord extends OutgoingRecord {
  /** Number of its partition. */
  readonly partition: number;
  /** Where it stands in its partition. */
  readonly offset: bigint;
}

/** A partition of a topic. */
export interface TopicPartition {
  /** The topic. */
  readonly topic: string;
  /** Number of the partition. */
  readonly partition: number;
}

/** A partition and a place in it. */
export interface PartitionOffset extends TopicPartition {
  /** The offset of the record that comes next. */
  readonly offset: bigint;
}

/** What a consumer tells. Every call is answered at once; none throws. */
export interface ConsumerEvents {
  /**
   * The group was joined, anew or again: from now on these partitions are this member's, and no other.
   * A member whose id is new was out of the group meanwhile.
   *
   * @returns Where to go on with partitions that were this member's before; the others begin where the
   * group committed last.
   */
  assigned(
    memberId: string,
    partitions: readonly TopicPartition[],
  ): readonly PartitionOffset[];
  /**
   * Records of one partition, in order. `nextOffset` is where the partition goes on.
   *
   * @returns When set, the partition is to be paused until it resolves.
   */
  records(
    partition: TopicPartition,
    records: readonly IncomingRecord[],
    nextOffset: bigint,
  ): Promise<void> | undefined;
  /** It has ended by itself and left the group; nothing comes any more. */
  failed(error: Error): void;
}

/** How a consumer works. */
export interface ConsumerSetup {
  /** The consumer group. */
  readonly groupId: string;
  /** Topics, with their prefix. */
  readonly topics: readonly string[];
  /** How long the broker waits for a sign of life. */
  readonly sessionTimeoutMs: number;
  /** How long the broker waits for members to join again. */
  readonly rebalanceTimeoutMs: number;
  /** How often a sign of life is given. */
  readonly heartbeatIntervalMs: number;
  /** How long the broker may hold a fetch back while there is nothing. */
  readonly maxWaitMs: number;
  /** Most bytes that one fetch brings of one partition. */
  readonly maxBytesPerPartition: number;
  /** Time. */
  readonly clock: Clock;
  /** What it tells. */
  readonly events: ConsumerEvents;
}

/** A member of a consumer group. It never commits by itself. */
export interface KafkaConsumer {
  /** Joins the group; resolves once {@linkcode ConsumerEvents.assigned} was called. */
  start(): Promise<void>;
  /**
   * Commits, as the member it is at the moment of the call and never as a later one. It rejects when
   * the group has moved on.
   */
  commit(offsets: readonly PartitionOffset[]): Promise<void>;
  /** Leaves the group and disconnects. */
  stop(): Promise<void>;
}

/** What a partition holds. */
export interface PartitionRange {
  /** Number of the partition. */
  readonly partition: number;
  /** Offset of its first record. */
  readonly low: bigint;
  /** Offset that its next record will have. */
  readonly high: bigint;
}

/** A topic that is to be made. */
export interface NewTopic {
  /** Its name, with its prefix. */
  readonly topic: string;
  /** How many partitions; the broker's default when it is absent. */
  readonly partitions?: number;
  /** How many replicas; the broker's default when it is absent. */
  readonly replicas?: number;
  /** Settings of the topic, for instance `retention.ms`. */
  readonly configs: Readonly<Record<string, string>>;
}

/** The surface of a Kafka client that the transport uses. */
export interface KafkaClient {
  /** Connects, and rejects when that cannot be done. */
  connect(): Promise<void>;
  /**
   * Writes records with `acks=all`, in order within a partition; called for one batch at a time. After
   * a rejection nothing is known of any of them, unless the error says that the broker refused.
   */
  send(records: readonly OutgoingRecord[]): Promise<void>;
  /** Makes a member of a group, not yet started. */
  consumer(setup: ConsumerSetup): KafkaConsumer;
  /** Counts the partitions of topics; one that does not exist is absent. */
  partitions(topics: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Says what each partition of a topic holds. */
  ranges(topic: string): Promise<readonly PartitionRange[]>;
  /** Says what a group committed on a topic; a partition without a commit is absent. */
  committed(groupId: string, topic: string): Promise<ReadonlyMap<number, bigint>>;
  /** Reads the settings of topics that exist. */
  configs(topics: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>>;
  /** Makes topics that do not exist yet; brokers may hear of them later. */
  createTopics(topics: readonly NewTopic[]): Promise<void>;
  /**
   * Disconnects; nothing is sent any more until {@linkcode connect} is called again.
   *
   * @param options `signal`: waits no longer.
   */
  close(options?: SignalOptions): Promise<void>;
}

/**
 * The part of `kafkajs` that is used. Structural, so that any of its versions serves without this
 * package depending on it.
 *
 * @module
 */

import type { Buffer } from "node:buffer";

/** A record as the client takes it. */
export interface KafkajsMessage {
  /** The key. */
  readonly key: Buffer | null;
  /** The value. */
  readonly value: Buffer | null;
  /** Unix milliseconds, in decimal digits. */
  readonly timestamp: string;
  /** Names and values. */
  readonly headers: Record<string, Buffer | string | (Buffer | string)[]>;
  /** Its partition, once it was picked. */
  partition?: number;
}

/** A record as the client gives it. */
export interface KafkajsRecord {
  /** Its offset, in decimal digits. */
  readonly offset: string;
  /** The key. */
  readonly key: Buffer | null;
  /** The value. */
  readonly value: Buffer | null;
  /** Unix milliseconds, in decimal digits. */
  readonly timestamp: string;
  /** Names and values. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Offsets to commit. */
export interface KafkajsOffsets {
  /** By topic and partition. */
  topics: { topic: string; partitions: { partition: number; offset: string }[] }[];
}

/** What the client hands over for a batch. */
export interface KafkajsBatchPayload {
  /** The records of one partition. */
  readonly batch: {
    readonly topic: string;
    readonly partition: number;
    readonly messages: readonly KafkajsRecord[];
    lastOffset(): string;
  };
  /** Where the partition goes on. */
  resolveOffset(offset: string): void;
  /** Commits these offsets as the member that it is now, once. */
  commitOffsetsIfNecessary(offsets: KafkajsOffsets): Promise<void>;
}

/** A producer. */
export interface KafkajsProducer {
  /** Connects. */
  connect(): Promise<void>;
  /** Disconnects. */
  disconnect(): Promise<void>;
  /** Writes. */
  send(batch: { topic: string; acks: number; messages: KafkajsMessage[] }): Promise<unknown>;
}

/** A consumer. */
export interface KafkajsConsumer {
  /** Connects. */
  connect(): Promise<void>;
  /** Leaves the group and disconnects. */
  disconnect(): Promise<void>;
  /** Chooses topics. */
  subscribe(topics: { topics: string[]; fromBeginning: boolean }): Promise<void>;
  /** Joins the group and begins to fetch. */
  run(options: {
    autoCommit: boolean;
    eachBatchAutoResolve: boolean;
    partitionsConsumedConcurrently: number;
    eachBatch(payload: KafkajsBatchPayload): Promise<void>;
  }): Promise<void>;
  /** Goes on from an offset. */
  seek(place: { topic: string; partition: number; offset: string }): void;
  /** Fetches no more of some partitions. */
  pause(topics: { topic: string; partitions: number[] }[]): void;
  /** Fetches of them again. */
  resume(topics: { topic: string; partitions: number[] }[]): void;
  /** Listens to an event such as `consumer.group_join`; the function that it returns ends that. */
  on(event: string, listener: (event: { payload: unknown }) => void): () => void;
}

/** An admin client. */
export interface KafkajsAdmin {
  /** Connects. */
  connect(): Promise<void>;
  /** Disconnects. */
  disconnect(): Promise<void>;
  /** The partitions of topics; without names of all of them. */
  fetchTopicMetadata(options?: { topics: string[] }): Promise<{
    topics: { name: string; partitions: unknown[] }[];
  }>;
  /** What the partitions of a topic hold. */
  fetchTopicOffsets(
    topic: string,
  ): Promise<{ partition: number; low: string; high: string }[]>;
  /** What a group has committed. */
  fetchOffsets(options: { groupId: string; topics: string[] }): Promise<
    { topic: string; partitions: { partition: number; offset: string }[] }[]
  >;
  /** Settings. */
  describeConfigs(options: {
    includeSynonyms: boolean;
    resources: { type: number; name: string }[];
  }): Promise<
    {
      resources: {
        resourceName: string;
        configEntries: { configName: string; configValue: string }[];
      }[];
    }
  >;
  /** Makes topics. */
  createTopics(options: {
    waitForLeaders: boolean;
    topics: {
      topic: string;
      numPartitions?: number;
      replicationFactor?: number;
      configEntries: { name: string; value: string }[];
    }[];
  }): Promise<boolean>;
}

/** What the client hands an assigner. */
export interface KafkajsCluster {
  /** Loads the metadata of topics. */
  addMultipleTargetTopics(topics: string[]): Promise<void>;
  /** The partitions of a topic. */
  findTopicPartitionMetadata(topic: string): { partitionId: number }[];
}

/** An assigner of partitions. */
export interface KafkajsAssigner {
  /** Its name, which members agree on. */
  readonly name: string;
  /** Version of its format. */
  readonly version: number;
  /** Shares the partitions; run by the member that leads. */
  assign(group: {
    members: { memberId: string; memberMetadata: Buffer }[];
  }): Promise<{ memberId: string; memberAssignment: Buffer }[]>;
  /** What a member says when it joins. */
  protocol(subscription: { topics: string[] }): { name: string; metadata: Buffer };
}

/** A `Kafka` of `kafkajs`. */
export interface KafkajsLike {
  /** Makes a producer. */
  producer(options: Record<string, unknown>): KafkajsProducer;
  /** Makes a consumer. */
  consumer(options: { groupId: string; [option: string]: unknown }): KafkajsConsumer;
  /** Makes an admin client. */
  admin(options?: Record<string, unknown>): KafkajsAdmin;
}

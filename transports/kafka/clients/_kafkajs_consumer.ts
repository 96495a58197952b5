import { settledWithin } from "@bq/core/transport";
import type {
  ConsumerSetup,
  IncomingRecord,
  KafkaConsumer,
  PartitionOffset,
  RecordHeaders,
  TopicPartition,
} from "../client.ts";
import type {
  KafkajsBatchPayload,
  KafkajsConsumer as Consumer,
  KafkajsLike,
  KafkajsOffsets,
  KafkajsRecord,
} from "./_kafkajs_like.ts";
import { kafkajsAssigners } from "./_kafkajs_assigner.ts";
import { faultOf } from "./_kafkajs_watch.ts";
import { keyOf, partitionOf } from "../_partition.ts";

/**
 * How long a batch may keep the client from fetching before its partition is paused instead, in
 * milliseconds. A paused partition is only fetched from again after the fetch that is under way.
 */
const GRACE_MS = 20;
/** How long one that could not be started is waited for, in milliseconds. */
const LEAVING_MS = 10_000;

interface JoinEvent {
  readonly memberId: string;
  readonly memberAssignment: Readonly<Record<string, readonly number[]>>;
}

/** A member of a group, on `kafkajs`. */
export class KafkajsMember implements KafkaConsumer {
  readonly #setup: ConsumerSetup;
  readonly #consumer: Consumer;
  /** Which partitions wait for room, by name; this object's own, since the client forgets it or keeps it too long. */
  readonly #full: Map<string, Promise<void>> = new Map();
  #commit: ((offsets: KafkajsOffsets) => Promise<void>) | undefined;
  readonly #committing: Set<Promise<void>> = new Set();
  #started: PromiseWithResolvers<void> | undefined;
  readonly #ended: AbortController = new AbortController();

  /**
   * @param kafka What makes consumers.
   * @param setup How it works.
   */
  constructor(kafka: KafkajsLike, setup: ConsumerSetup) {
    this.#setup = setup;
    this.#consumer = kafka.consumer({
      groupId: setup.groupId,
      partitionAssigners: kafkajsAssigners(),
      sessionTimeout: setup.sessionTimeoutMs,
      rebalanceTimeout: setup.rebalanceTimeoutMs,
      heartbeatInterval: setup.heartbeatIntervalMs,
      maxWaitTimeInMs: setup.maxWaitMs,
      maxBytesPerPartition: setup.maxBytesPerPartition,
      allowAutoTopicCreation: false,
      // Whoever uses this starts another one; a client that comes back by itself is never in time.
      retry: { retries: 5, restartOnFailure: () => Promise.resolve(false) },
    });
    this.#consumer.on("consumer.group_join", ({ payload }) => this.#joined(payload as JoinEvent));
    this.#consumer.on(
      "consumer.crash",
      ({ payload }) => this.#failed((payload as { error: Error }).error),
    );
  }

  get #over(): boolean {
    return this.#ended.signal.aborted;
  }

  async start(): Promise<void> {
    const started = Promise.withResolvers<void>();
    started.promise.catch(() => {});
    this.#started = started;
    void this.#watch();
    try {
      await Promise.race([started.promise, this.#run().then(() => started.promise)]);
    } catch (error) {
      this.#ended.abort();
      await settledWithin(this.#consumer.disconnect(), LEAVING_MS, this.#setup.clock);
      throw error;
    }
  }

  async #run(): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...this.#setup.topics], fromBeginning: true });
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: 64,
      eachBatch: (payload) => this.#batch(payload),
    });
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    if (this.#commit === undefined) throw new Error("nothing was received yet");
    // The client's other way to commit tries again by itself, as whatever member it is by then.
    const committing = this.#commit({
      topics: offsets.map(({ topic, partition, offset }) => ({
        topic,
        partitions: [{ partition, offset: `${offset}` }],
      })),
    });
    this.#committing.add(committing);
    try {
      await committing;
    } finally {
      this.#committing.delete(committing);
    }
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#consumer.disconnect();
    void this.#disconnectAgain();
  }

  /** A commit under way connects anew behind the back of a consumer that was disconnected. */
  async #disconnectAgain(): Promise<void> {
    if (this.#committing.size === 0) return;
    await Promise.allSettled([...this.#committing]);
    await this.#consumer.disconnect().catch(() => {});
  }

  /** A client that is no member any more is given up; should it come back, it leaves the group. */
  async #watch(): Promise<void> {
    const over = this.#ended.signal;
    const fault = await faultOf({ consumer: this.#consumer, setup: this.#setup, over });
    if (fault === undefined) return;
    this.#failed(new Error(fault));
    await this.#consumer.disconnect().catch(() => {});
  }

  #joined({ memberId, memberAssignment }: JoinEvent): void {
    if (this.#over) return;
    const partitions = Object.entries(memberAssignment).flatMap(([topic, numbers]) =>
      numbers.map((partition): TopicPartition => ({ topic, partition }))
    );
    for (const key of this.#full.keys()) this.#consumer.resume([selection(key)]);
    const goOn = this.#setup.events.assigned(memberId, partitions);
    for (const { topic, partition, offset } of goOn) {
      this.#consumer.seek({ topic, partition, offset: `${offset}` });
    }
    const own = new Set(partitions.map(keyOf));
    for (const key of [...this.#full.keys()]) {
      if (own.has(key)) this.#consumer.pause([selection(key)]);
      else this.#full.delete(key);
    }
    this.#started?.resolve();
  }

  #failed(error: Error): void {
    if (this.#over) return;
    this.#ended.abort();
    this.#started?.reject(error);
    this.#setup.events.failed(error);
    void this.#disconnectAgain();
  }

  async #batch(payload: KafkajsBatchPayload): Promise<void> {
    const { batch, resolveOffset, commitOffsetsIfNecessary } = payload;
    const { topic, partition } = batch;
    this.#commit = commitOffsetsIfNecessary;
    if (this.#over) return;
    const lastOffset = batch.lastOffset();
    const records = batch.messages.map((message) => recordOf(topic, partition, message));
    const { events, clock } = this.#setup;
    const full = events.records({ topic, partition }, records, BigInt(lastOffset) + 1n);
    resolveOffset(lastOffset);
    if (full === undefined) return;
    let room = false;
    const waited = new AbortController();
    const roomMade = full.then(() => {
      room = true;
      waited.abort();
    });
    await clock.sleep(GRACE_MS, waited.signal);
    if (room || this.#over) return;
    const key = keyOf({ topic, partition });
    this.#full.set(key, full);
    this.#consumer.pause([selection(key)]);
    void roomMade.then(() => {
      // It may have gone to another member and come back meanwhile.
      if (this.#full.get(key) !== full) return;
      this.#full.delete(key);
      if (!this.#over) this.#consumer.resume([selection(key)]);
    });
  }
}

function selection(key: string): { topic: string; partitions: number[] } {
  const { topic, partition } = partitionOf(key);
  return { topic, partitions: [partition] };
}

function recordOf(topic: string, partition: number, message: KafkajsRecord): IncomingRecord {
  return {
    topic,
    partition,
    offset: BigInt(message.offset),
    key: message.key,
    value: message.value,
    headers: headersOf(message.headers ?? {}),
    timestampMs: Number(message.timestamp),
  };
}

/** The client gives a repeated header as a list, and mixes in what objects inherit under such a name. */
function headersOf(headers: Readonly<Record<string, unknown>>): RecordHeaders {
  return Object.entries(headers).flatMap(([name, given]) =>
    (Array.isArray(given) ? given : [given])
      .filter((value) => value === null || value instanceof Uint8Array)
      .map((value) => [name, value as Uint8Array | null] as const)
  );
}

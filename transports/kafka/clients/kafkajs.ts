import { Buffer } from "node:buffer";
import { closedError, type SignalOptions } from "@bq/core/transport";
import type {
  ConsumerSetup,
  KafkaClient,
  KafkaConsumer,
  NewTopic,
  OutgoingRecord,
  PartitionRange,
  RecordHeaders,
} from "../client.ts";
import { Partitioner } from "../_partitioner.ts";
import { KafkajsMember } from "./_kafkajs_consumer.ts";
import { partitionsOf, Questions } from "./_kafkajs_admin.ts";
import type { KafkajsLike, KafkajsMessage, KafkajsProducer } from "./_kafkajs_like.ts";

export type { KafkajsLike };

const EMPTY = new Uint8Array(0);
/** Number of the resource type "topic". */
const TOPIC = 2;

/** How the client writes. */
export interface KafkajsOptions {
  /**
   * Whether the broker recognises a batch that was sent again.
   *
   * @default {true}
   */
  readonly idempotent?: boolean;
}

/**
 * Adapts a `Kafka` of `kafkajs`. What is made of it, producers and consumers, is closed with the
 * transport. A header without a value is written as an empty one, because the client cannot write it.
 *
 * @param kafka The `Kafka`.
 * @param options How it writes.
 * @returns The surface that the transport uses.
 */
export function kafkajsClient(kafka: KafkajsLike, options: KafkajsOptions = {}): KafkaClient {
  return new Kafkajs(kafka, options.idempotent ?? true);
}

/** A producer, and how many batches are under way on it. */
interface Writer {
  readonly producer: KafkajsProducer;
  readonly connected: Promise<void>;
  sending: number;
  retired: boolean;
}

class Kafkajs implements KafkaClient {
  readonly #kafka: KafkajsLike;
  readonly #idempotent: boolean;
  readonly #partitioner: Partitioner = new Partitioner();
  readonly #questions: Questions;
  readonly #closing: Set<Promise<void>> = new Set();
  #closed = false;
  #writer: Writer | undefined;

  constructor(kafka: KafkajsLike, idempotent: boolean) {
    this.#kafka = kafka;
    this.#idempotent = idempotent;
    this.#questions = new Questions(kafka);
  }

  async connect(): Promise<void> {
    this.#closed = false;
    this.#questions.open();
    await this.#writing().connected;
  }

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    const writer = this.#writing();
    writer.sending++;
    try {
      await writer.connected;
      for (const [topic, messages] of byTopic(records)) {
        await writer.producer.send({ topic, acks: -1, messages });
      }
    } catch (error) {
      // Its sequence numbers may not be the broker's any more: the next batch could be taken for this
      // one and never be written.
      writer.retired = true;
      if (this.#writer === writer) this.#writer = undefined;
      throw error;
    } finally {
      writer.sending--;
      if (writer.retired && writer.sending === 0) this.#end(writer.producer);
    }
  }

  consumer(setup: ConsumerSetup): KafkaConsumer {
    return new KafkajsMember(this.#kafka, setup);
  }

  partitions(topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#questions.ask(async (admin) => {
      const found = new Map<string, number>();
      for (const topic of new Set(topics)) {
        const count = await partitionsOf(admin, topic);
        if (count !== undefined) found.set(topic, count);
      }
      return found;
    });
  }

  ranges(topic: string): Promise<readonly PartitionRange[]> {
    return this.#questions.ask(async (admin) =>
      (await admin.fetchTopicOffsets(topic)).map(({ partition, low, high }) => ({
        partition,
        low: BigInt(low),
        high: BigInt(high),
      }))
    );
  }

  committed(groupId: string, topic: string): Promise<ReadonlyMap<number, bigint>> {
    return this.#questions.ask(async (admin) => {
      const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
      return new Map(
        (found?.partitions ?? [])
          .map(({ partition, offset }) => [partition, BigInt(offset)] as const)
          .filter(([, offset]) => offset >= 0n),
      );
    });
  }

  configs(
    topics: readonly string[],
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
    return this.#questions.askAnew(async (admin) => {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: topics.map((name) => ({ type: TOPIC, name })),
      });
      return new Map(resources.map(({ resourceName, configEntries }) => [
        resourceName,
        new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
      ]));
    });
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    await this.#questions.askAnew((admin) =>
      admin.createTopics({
        // The client waits for leaders, but not for a broker that has not heard of the topic.
        waitForLeaders: false,
        topics: topics.map(({ topic, partitions, replicas, configs }) => ({
          topic,
          ...(partitions === undefined ? {} : { numPartitions: partitions }),
          ...(replicas === undefined ? {} : { replicationFactor: replicas }),
          configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
        })),
      })
    );
  }

  async close({ signal }: SignalOptions = {}): Promise<void> {
    this.#closed = true;
    const writer = this.#writer;
    this.#writer = undefined;
    if (writer !== undefined) this.#end(writer.producer);
    await Promise.allSettled([this.#questions.close(signal), ...this.#closing]);
  }

  #writing(): Writer {
    // What was under way may come back, and would connect anew.
    if (this.#closed) throw closedError("write to Kafka", "the client is closed");
    if (this.#writer !== undefined) return this.#writer;
    const producer = this.#kafka.producer({
      idempotent: this.#idempotent,
      allowAutoTopicCreation: false,
      retry: { retries: 5 },
      // The same record goes to the same partition when it is sent again.
      createPartitioner: () => ({ topic, message, partitionMetadata }: Place) =>
        message.partition ??= this.#partitioner.pick(
          topic,
          message.key,
          partitionMetadata.length,
        ),
    });
    const connected = producer.connect();
    const writer = { producer, connected, sending: 0, retired: false };
    connected.catch(() => {
      if (this.#writer === writer) this.#writer = undefined;
    });
    return this.#writer = writer;
  }

  #end(producer: KafkajsProducer): void {
    const ended = producer.disconnect().catch(() => {}).finally(() => this.#closing.delete(ended));
    this.#closing.add(ended);
  }
}

interface Place {
  readonly topic: string;
  readonly message: KafkajsMessage;
  readonly partitionMetadata: readonly unknown[];
}

function byTopic(records: readonly OutgoingRecord[]): Map<string, KafkajsMessage[]> {
  const topics = new Map<string, KafkajsMessage[]>();
  for (const record of records) {
    const messages = topics.get(record.topic) ?? [];
    topics.set(record.topic, messages);
    messages.push({
      key: record.key === null ? null : buffer(record.key),
      value: record.value === null ? null : buffer(record.value),
      timestamp: `${record.timestampMs}`,
      headers: headersOf(record.headers),
    });
  }
  return topics;
}

function headersOf(headers: RecordHeaders): KafkajsMessage["headers"] {
  const map: KafkajsMessage["headers"] = Object.create(null);
  for (const [name, value] of headers) {
    const written = typeof value === "string" ? value : buffer(value ?? EMPTY);
    const before = map[name];
    if (before === undefined) map[name] = written;
    else map[name] = Array.isArray(before) ? [...before, written] : [before, written];
  }
  return map;
}

/** The client writes only these as they are. */
function buffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

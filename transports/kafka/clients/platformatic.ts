import { Buffer } from "node:buffer";
import { closedError } from "@bq/core/transport";
import type { Admin, Producer } from "@platformatic/kafka";
import type {
  ConsumerSetup,
  KafkaClient,
  KafkaConsumer,
  NewTopic,
  OutgoingRecord,
  PartitionRange,
} from "../client.ts";
import { isUnknownTopic } from "../_errors.ts";
import { Partitioner } from "../_partitioner.ts";
import { EARLIEST, LATEST, PlatformaticMember } from "./_platformatic_consumer.ts";

/** Options of `@platformatic/kafka`, handed on as they are; for instance `sasl`, `tls`, `connectTimeout`. */
export interface PlatformaticOptions {
  /** The brokers, as `host:port`. */
  readonly bootstrapBrokers: readonly string[];
  /**
   * Whether the broker recognises a batch that was sent again.
   *
   * @default {true}
   */
  readonly idempotent?: boolean;
  /** One of them. */
  readonly [option: string]: unknown;
}

/** Number of the resource type "topic". */
const TOPIC = 2;

/** What is imported when it is needed first. */
export type PlatformaticModule = typeof import("@platformatic/kafka");

/**
 * Makes a client of `@platformatic/kafka`. It is this package's own, and closed with the transport.
 *
 * @param options Its options.
 * @returns The surface that the transport uses.
 *
 * @example The other client
 * ```ts ignore
 * const client = platformaticClient({ bootstrapBrokers: ["localhost:9092"] });
 * const bq = new BabelQueue(kafka({ client }), { queue: "orders" });
 * ```
 */
export function platformaticClient(options: PlatformaticOptions): KafkaClient {
  return new Platformatic(options);
}

class Platformatic implements KafkaClient {
  readonly #options: PlatformaticOptions;
  readonly #partitioner: Partitioner = new Partitioner();
  readonly #closing: Set<Promise<void>> = new Set();
  #closed = false;
  #producer: Promise<Producer> | undefined;
  #admin: Promise<Admin> | undefined;

  constructor(options: PlatformaticOptions) {
    this.#options = options;
  }

  async connect(): Promise<void> {
    this.#closed = false;
    await (await this.#administrating()).metadata({ topics: [] });
  }

  async send(records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#closed) throw closedError("write to Kafka", "the client is closed");
    this.#producer ??= this.#produce();
    const using = this.#producer;
    const producer = await using;
    try {
      const topics = [...new Set(records.map(({ topic }) => topic))];
      const metadata = await producer.metadata({ topics });
      const messages = records.map((record) => {
        const { topic, key, value, headers, timestampMs } = record;
        const count = metadata.topics.get(topic)?.partitionsCount ?? 1;
        return {
          topic,
          partition: this.#partitioner.pick(topic, key, count),
          timestamp: BigInt(timestampMs),
          headers: new Map(headers.map(([name, text]) => [Buffer.from(name), buffer(text)])),
          // What is left out is written as nothing at all, which an empty one is not.
          ...(key === null ? {} : { key: buffer(key) }),
          ...(value === null ? {} : { value: buffer(value) }),
        };
      });
      await producer.send({ messages, acks: -1 } as never);
    } catch (error) {
      // As with kafkajs: its sequence numbers may not be the broker's any more.
      if (this.#producer === using) this.#producer = undefined;
      this.#end(producer);
      throw error;
    }
  }

  consumer(setup: ConsumerSetup): KafkaConsumer {
    return new PlatformaticMember(load, this.#common(), setup);
  }

  async partitions(topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const admin = await this.#administrating();
    const found = new Map<string, number>();
    // One request for all of them fails when one is missing, one for the cluster when any has no leader.
    for (const topic of new Set(topics)) {
      try {
        const answer = await admin.metadata({ topics: [topic], forceUpdate: true, retries: 0 });
        const count = answer.topics.get(topic)?.partitionsCount;
        if (count !== undefined) found.set(topic, count);
      } catch (error) {
        if (!isUnknownTopic(error)) throw error;
      }
    }
    return found;
  }

  async ranges(topic: string): Promise<readonly PartitionRange[]> {
    const count = (await this.partitions([topic])).get(topic) ?? 0;
    const admin = await this.#administrating();
    const at = async (timestamp: bigint): Promise<Map<number, bigint>> => {
      const partitions = Array.from(
        { length: count },
        (_, partitionIndex) => ({ partitionIndex, timestamp }),
      );
      const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions }] });
      return new Map(
        (found?.partitions ?? []).map(({ partitionIndex, offset }) => [partitionIndex, offset]),
      );
    };
    const [low, high] = [await at(EARLIEST), await at(LATEST)];
    return Array.from({ length: count }, (_, partition) => ({
      partition,
      low: low.get(partition) ?? 0n,
      high: high.get(partition) ?? 0n,
    }));
  }

  async committed(groupId: string, topic: string): Promise<ReadonlyMap<number, bigint>> {
    const admin = await this.#administrating();
    const [group] = await admin.listConsumerGroupOffsets({ groups: [groupId] });
    const partitions = group?.topics.find(({ name }) => name === topic)?.partitions ?? [];
    return new Map(
      partitions
        .filter(({ committedOffset }) => committedOffset >= 0n)
        .map(({ partitionIndex, committedOffset }) => [partitionIndex, committedOffset]),
    );
  }

  async configs(
    topics: readonly string[],
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
    const admin = await this.#administrating();
    const resources = topics.map((resourceName) => ({ resourceType: TOPIC, resourceName }));
    const found = await admin.describeConfigs({ resources } as never);
    return new Map(found.map(({ resourceName, configs }) => [
      resourceName,
      new Map(configs.map(({ name, value }) => [name, value ?? ""])),
    ]));
  }

  async createTopics(topics: readonly NewTopic[]): Promise<void> {
    const admin = await this.#administrating();
    for (const { topic, partitions = -1, replicas = -1, configs } of topics) {
      await admin.createTopics({
        topics: [topic],
        partitions,
        replicas,
        configs: Object.entries(configs).map(([name, value]) => ({ name, value })),
      });
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const [producer, admin] = [this.#producer, this.#admin];
    this.#producer = this.#admin = undefined;
    for (const one of [producer, admin]) {
      const client = await one?.catch(() => undefined);
      if (client !== undefined) this.#end(client);
    }
    await Promise.all(this.#closing);
  }

  #common(): Record<string, unknown> {
    const { idempotent: _, ...options } = this.#options;
    return { clientId: "babelqueue", autocreateTopics: false, ...options };
  }

  async #produce(): Promise<Producer> {
    const { Producer } = await load();
    const idempotent = this.#options.idempotent ?? true;
    return new Producer({ ...this.#common(), idempotent } as never);
  }

  async #administrating(): Promise<Admin> {
    if (this.#closed) throw closedError("ask Kafka", "the client is closed");
    return await (this.#admin ??= load().then(({ Admin }) => new Admin(this.#common() as never)));
  }

  #end(client: { close(): Promise<void> }): void {
    const ended = client.close().catch(() => {}).finally(() => this.#closing.delete(ended));
    this.#closing.add(ended);
  }
}

function load(): Promise<PlatformaticModule> {
  return import("@platformatic/kafka");
}

function buffer(bytes: Uint8Array | string | null): Buffer | null {
  if (bytes === null) return null;
  if (typeof bytes === "string") return Buffer.from(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

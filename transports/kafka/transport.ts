import {
  Attached,
  cannotOpen,
  type Capabilities,
  type Delivery,
  notOpen,
  type Outgoing,
  type PublishDelay,
  type PublishOutcome,
  type QueueSize,
  type SettlementPolicy,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type Transport,
  type TransportContext,
  unlessAborted,
} from "@bq/core/transport";
import { connectionError } from "./_errors.ts";
import { patiently } from "./_patience.ts";
import { CONFIRMED, outcomeOf } from "./_outcome.ts";
import { Producing } from "./_producing.ts";
import { Reinjections } from "./_reinjections.ts";
import { acquire, adapted, release } from "./clients/adapt.ts";
import { ownClient } from "./clients/own.ts";
import type { ConsumerEvents, IncomingRecord, KafkaClient, KafkaConsumer } from "./client.ts";
import { assertTopic, sizeOf, unread } from "./_inspect.ts";
import { type KafkaOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { kafkaPolicy } from "./policy.ts";
import { publishRecord } from "./project.ts";
import { KafkaSubscription } from "./subscription.ts";
import { retryTopic, topicOf } from "./tiers.ts";
import { checkTopics, type TopicFinding } from "./topics.ts";

/** The transport made by {@linkcode kafka}: it can count its queues and check their topics. */
export interface KafkaTransport extends Transport {
  /**
   * Counts a queue: what the group has not committed yet, and what waits on the tiers. In flight are
   * the records in the hands of this transport alone. Records that a transaction left behind count.
   */
  size(queue: string): Promise<QueueSize>;
  /**
   * Looks for topics of queues that are missing or badly set.
   *
   * @param queues Names of the queues.
   * @returns What is wrong; empty when nothing is.
   */
  check(...queues: readonly string[]): Promise<TopicFinding[]>;
}

/**
 * Makes a transport on Kafka.
 *
 * @param options A URL, or {@linkcode KafkaOptions}.
 * @returns The transport, to be handed to {@linkcode BabelQueue}.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 *
 * @example A worker that retries
 * ```ts ignore
 * import { BabelQueue } from "@bq/core";
 * import { DEFAULT_RETRY_TIERS_MS, kafka } from "@bq/kafka";
 *
 * const transport = kafka({
 *   url: "kafka://localhost:9092",
 *   retryTiersMs: DEFAULT_RETRY_TIERS_MS,
 *   reinject: true,
 * });
 * const bq = new BabelQueue(transport, { queue: "orders", maxAttempts: 5, deadLetter: true });
 * bq.handle("urn:babel:orders:created", (order) => console.log(order.order_id));
 * await bq.run({ concurrency: 6 });
 * ```
 */
export function kafka(options: string | KafkaOptions = {}): KafkaTransport {
  return new OnKafka(resolveOptions(typeof options === "string" ? { url: options } : options));
}

/** What an open transport has. */
interface Open {
  readonly context: TransportContext;
  readonly client: KafkaClient;
  readonly producing: Producing;
}

class OnKafka implements KafkaTransport {
  readonly name: string = "kafka";
  readonly capabilities: Capabilities;
  readonly policy: SettlementPolicy;
  readonly #options: ResolvedOptions;
  readonly #given: KafkaClient | undefined;
  readonly #sources: Attached<Delivery, IncomingRecord> = new Attached();
  readonly #subscriptions: Set<KafkaSubscription> = new Set();
  readonly #checked: Set<string> = new Set();
  #reinjections: Reinjections | undefined;
  #opened: Open | undefined;
  #opening = false;
  #closed = false;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#given = options.client === undefined ? undefined : adapted(options.client);
    const { tiersMs } = options;
    this.policy = kafkaPolicy({ tiers: tiersMs.length > 0 });
    const publishDelay: PublishDelay = tiersMs.length > 0
      ? { kind: "tiers", tiersMs }
      : { kind: "none" };
    this.capabilities = Object.freeze({
      headers: true,
      publishDelay,
      order: "key",
      keys: true,
      nativeCount: false,
      versionGate: true,
      leases: false,
      peek: false,
      size: true,
    });
  }

  async open(context: TransportContext, options: SignalOptions = {}): Promise<void> {
    if (this.#closed || this.#opened !== undefined || this.#opening) {
      throw cannotOpen("Kafka", this.#closed);
    }
    options.signal?.throwIfAborted();
    this.#opening = true;
    let client: KafkaClient | undefined;
    try {
      client = acquire(this.#given ?? await ownClient(this.#options.connection));
      await unlessAborted(client.connect(), options.signal);
      const producing = new Producing(client);
      this.#opened = { context, client, producing };
      if (this.#options.reinject) {
        this.#reinjections = new Reinjections({
          broker: this.#options,
          client,
          producing,
          clock: context.clock,
          emit: (event) => context.emit(event),
        });
      }
    } catch (error) {
      if (client !== undefined) void release(client).catch(() => {});
      if (options.signal?.aborted) throw error;
      throw connectionError("connect to Kafka", error);
    } finally {
      this.#opening = false;
    }
    context.emit({ type: "connected" });
  }

  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options: SignalOptions = {},
  ): Promise<readonly PublishOutcome[]> {
    const { context: { clock }, producing } = this.#use(`publish to '${queue}'`);
    const { tiersMs } = this.#options;
    const place = { topic: this.#topic(queue), tiersMs, nowMs: clock.now() };
    options.signal?.throwIfAborted();
    const records = messages.map((message) =>
      publishRecord(message, message.from && this.#sources.get(message.from), place)
    );
    const results = await Promise.allSettled(producing.write(records, options.signal));
    return results.map((result, index) =>
      result.status === "fulfilled"
        ? CONFIRMED
        : outcomeOf(queue, records[index]!.topic, result.reason)
    );
  }

  async subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    const { context, client, producing } = this.#use(`subscribe to '${queue}'`);
    const { groupId, tiersMs } = this.#options;
    const topic = this.#topic(queue);
    // A name that is too long with a tier behind it would only be met by the first retry.
    if (tiersMs.length > 0) topicOf("", retryTopic(topic, tiersMs.length));
    await assertTopic(client, queue, topic, context.clock);
    const ends = options.snapshot
      ? await unread(client, groupId, topic, queue, context.clock)
      : undefined;
    const subscription = new KafkaSubscription({
      queue,
      topic,
      tiersMs,
      producing,
      context,
      options,
      ends,
      sources: this.#sources,
      topicOf: (name) => this.#topic(name),
      consumer: (events) => this.#consumer(topic, events, client, context),
      onClose: async (closed) => {
        if (this.#subscriptions.delete(closed)) await this.#reinjections?.release(queue);
      },
    });
    try {
      await subscription.start();
      this.#use(`subscribe to '${queue}'`);
    } catch (error) {
      await subscription.close();
      throw connectionError(`subscribe to '${queue}' in the group '${groupId}'`, error);
    }
    this.#subscriptions.add(subscription);
    this.#reinjections?.acquire(queue);
    this.#warn(queue, client, context);
    return subscription;
  }

  async size(queue: string): Promise<QueueSize> {
    const { client, context: { clock } } = this.#use(`count '${queue}'`);
    const inFlight = [...this.#subscriptions]
      .filter((one) => one.queue === queue)
      .reduce((sum, one) => sum + one.inHand, 0);
    try {
      const topic = this.#topic(queue);
      return await patiently(clock, () => sizeOf(client, this.#options, topic, inFlight));
    } catch (error) {
      throw connectionError(`count '${queue}'`, error);
    }
  }

  async check(...queues: readonly string[]): Promise<TopicFinding[]> {
    const { client } = this.#use("check topics");
    const { tiersMs: retryTiersMs, prefix } = this.#options;
    try {
      return await checkTopics(client, queues, { retryTiersMs, prefix });
    } catch (error) {
      throw connectionError(`check the topics of '${queues.join("', '")}'`, error);
    }
  }

  async close(options: SignalOptions = {}): Promise<void> {
    const opened = this.#opened;
    this.#closed = true;
    this.#opened = undefined;
    await Promise.allSettled([...this.#subscriptions].map((one) => one.close(options)));
    await this.#reinjections?.close(options.signal);
    if (opened === undefined) return;
    const { client, producing } = opened;
    await unlessAborted(producing.drained(), options.signal, () => {});
    producing.end();
    await unlessAborted(release(client, options), options.signal, () => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #use(verb: string): Open {
    if (this.#opened !== undefined) return this.#opened;
    throw notOpen(verb, "Kafka", this.#closed);
  }

  #topic(queue: string): string {
    return topicOf(this.#options.prefix, queue);
  }

  #consumer(
    topic: string,
    events: ConsumerEvents,
    client: KafkaClient,
    { clock }: TransportContext,
  ): KafkaConsumer {
    return client.consumer({ ...this.#options, topics: [topic], clock, events });
  }

  /** Says once what is wrong with the topics of a queue that is worked on. Contract: K45. */
  #warn(queue: string, client: KafkaClient, context: TransportContext): void {
    const { tiersMs: retryTiersMs, prefix } = this.#options;
    if (retryTiersMs.length === 0 || this.#checked.has(queue)) return;
    this.#checked.add(queue);
    checkTopics(client, [queue], { retryTiersMs, prefix, deadLetter: false }).then(
      (findings) => {
        for (const { message } of findings) {
          context.emit({ type: "warning", code: "topic", message });
        }
      },
      // Whoever may not read settings can still work.
      () => {},
    );
  }
}

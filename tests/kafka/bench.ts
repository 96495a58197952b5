/**
 * A transport, a worker and a reader on a broker, for one test.
 *
 * @module
 */

import { BabelQueue, type BabelQueueOptions, type Delivery } from "@bq/core";
import { type Recorder, recorder } from "@bq/core/testing";
import type { SubscribeOptions, Subscription, TransportEvent } from "@bq/core/transport";
import { kafka, type KafkaOptions, type KafkaTransport } from "@bq/kafka";
import type { RunningBroker } from "../brokers/mod.ts";
import { eventually } from "../harness.ts";
import { contextOf, FAST, fresh, type Lab, openLab } from "./lab.ts";

/** Everything that one test uses; what is made here is closed at its end. */
export class Bench {
  /** A client beside the transport. */
  readonly lab: Lab;
  /** The group of its workers. */
  readonly groupId: string = fresh("group");
  /** The group of its re-injectors. */
  readonly reinjectGroupId: string = fresh("reinject");
  /** What transports told that were opened without an App. */
  readonly events: TransportEvent[] = [];
  readonly #broker: Pick<RunningBroker, "port">;
  readonly #options: KafkaOptions;
  readonly #closing: (() => unknown)[] = [];

  /**
   * @param broker The broker.
   * @param options Options of every transport.
   */
  constructor(broker: Pick<RunningBroker, "port">, options: KafkaOptions = {}) {
    this.#broker = broker;
    this.#options = options;
    this.lab = openLab(broker);
  }

  /** Makes a queue with its topics. */
  async queue(partitions: number = 3): Promise<string> {
    const queue = fresh();
    const { retryTiersMs = [], prefix = "" } = this.#options;
    await this.lab.topics([queue], { retryTiersMs, prefix, partitions });
    return queue;
  }

  /** A transport, not yet open. */
  transport(options: KafkaOptions = {}): KafkaTransport {
    const { groupId, reinjectGroupId } = this;
    const where = options.client ?? options.url ?? this.#options.client;
    const transport = kafka({
      ...(where === undefined ? { url: `kafka://127.0.0.1:${this.#broker.port}` } : {}),
      ...FAST,
      groupId,
      reinjectGroupId,
      ...this.#options,
      ...options,
    });
    this.#closing.push(() => transport.close());
    return transport;
  }

  /** An open transport. */
  async open(options: KafkaOptions = {}): Promise<KafkaTransport> {
    const transport = this.transport(options);
    await transport.open(contextOf(this.events));
    return transport;
  }

  /** A subscription; `lost` collects what it lost. */
  async subscribe(
    queue: string,
    options: Partial<SubscribeOptions> & { readonly transport?: KafkaTransport } = {},
  ): Promise<Subscription> {
    const { transport = await this.open(), ...rest } = options;
    return await transport.subscribe(queue, {
      prefetch: 10,
      intake: new AbortController().signal,
      lost: () => {},
      ...rest,
    });
  }

  /** Receives one message, or fails. */
  async one(subscription: Subscription): Promise<Delivery> {
    const [delivery] = await subscription.receive(1, 60_000);
    if (delivery === undefined) throw new Error("Cannot see a message within 60 s");
    return delivery;
  }

  /** Receives one message from whichever has it, or fails. */
  async oneOf(subscriptions: readonly Subscription[]): Promise<Delivery> {
    let delivery: Delivery | undefined;
    await eventually(async () => {
      for (const subscription of subscriptions) {
        delivery ??= (await subscription.receive(1, 100))[0];
      }
      return delivery !== undefined;
    });
    return delivery!;
  }

  /** An App on a transport of its own. */
  app(
    queue: string,
    options: BabelQueueOptions = {},
    transport: KafkaTransport = this.transport(),
  ): { bq: BabelQueue; seen: Recorder } {
    const seen = recorder();
    const bq = new BabelQueue(transport, { queue, pollTimeoutMs: 200, onEvent: seen, ...options });
    this.#closing.push(() => bq.close());
    return { bq, seen };
  }

  /** Lets an App work until the function it gives is called, which waits for its end. */
  work(bq: BabelQueue, concurrency: number = 3): () => Promise<void> {
    const stopping = new AbortController();
    const ended = bq.run({ signal: stopping.signal, concurrency });
    ended.catch(() => {});
    const stop = (): Promise<void> => {
      stopping.abort();
      return ended;
    };
    this.#closing.push(stop);
    return stop;
  }

  /** Closes everything, the last first. */
  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
    await this.lab.close();
  }
}

/** Runs a test on a bench of its own. */
export async function onBench(
  broker: Pick<RunningBroker, "port">,
  options: KafkaOptions,
  work: (bench: Bench) => Promise<void>,
): Promise<void> {
  const bench = new Bench(broker, options);
  try {
    await work(bench);
  } finally {
    await bench.close();
  }
}

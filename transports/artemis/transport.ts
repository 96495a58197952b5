import {
  assertQueueName,
  Attached,
  cannotOpen,
  type Capabilities,
  type Delivery,
  notOpen,
  type Outgoing,
  type Peeked,
  type PeekOptions,
  type PublishOutcome,
  type QueueSize,
  refuseDelays,
  type SettlementPolicy,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type Transport,
  type TransportContext,
  within,
} from "@bq/core/transport";
import type { Received } from "./_decode.ts";
import { Connector } from "./_connector.ts";
import { dial } from "./_dial.ts";
import { browse, sizeOf } from "./_inspect.ts";
import { type ArtemisOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { artemisPolicy } from "./policy.ts";
import { toMessage } from "./project.ts";
import { Sender } from "./_sender.ts";
import { ArtemisSubscription } from "./subscription.ts";

/**
 * Links to queues that are kept while nothing is on its way to them. Each has a session, and some
 * brokers allow 64 of these.
 */
const MOST_IDLE_SENDERS = 32;

/** Longest wait for the broker's answer to a close, in milliseconds. */
const GOODBYE_MS = 1_000;

/** What a broker that schedules messages calls that. */
const SCHEDULER = "DELAYED_DELIVERY";

/** The transport made by {@linkcode artemis}: it can look at and count its queues. */
export interface ArtemisTransport extends Transport {
  /**
   * Looks at what waits, without removing any; what is delayed or in flight is not shown.
   *
   * @throws {ConnectionError} when the connection is lost meanwhile.
   */
  peek(queue: string, options?: PeekOptions): AsyncIterable<Peeked>;
  /**
   * Counts a queue; a dead-letter queue is a queue like any other. Only Artemis answers that, and only
   * a user with the permission `manage`.
   *
   * @throws {BabelQueueError} `unsupported` on another broker.
   */
  size(queue: string): Promise<QueueSize>;
}

/**
 * Makes a transport on Apache ActiveMQ Artemis, or on another broker that speaks AMQP 1.0.
 *
 * @param options A URL, or {@linkcode ArtemisOptions}.
 * @returns The transport, to be handed to {@linkcode BabelQueue}.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 *
 * @example A worker
 * ```ts ignore
 * import { BabelQueue } from "@bq/core";
 * import { artemis } from "@bq/artemis";
 *
 * const bq = new BabelQueue(artemis("artemis://localhost:5672"), { queue: "orders" });
 * bq.handle("urn:babel:orders:created", (order) => console.log(order.order_id));
 * await bq.run({ concurrency: 10 });
 * ```
 */
export function artemis(options: string | ArtemisOptions = {}): ArtemisTransport {
  return new OnArtemis(resolveOptions(typeof options === "string" ? { url: options } : options));
}

class OnArtemis implements ArtemisTransport {
  readonly name: string = "artemis";
  readonly capabilities: Capabilities;
  readonly policy: SettlementPolicy;
  readonly #options: ResolvedOptions;
  readonly #senders: Map<string, Sender> = new Map();
  readonly #subscriptions: Set<ArtemisSubscription> = new Set();
  readonly #natives: Attached<Delivery, Received> = new Attached();
  readonly #closing: AbortController = new AbortController();
  #context: TransportContext | undefined;
  #connector: Connector | undefined;

  constructor(options: ResolvedOptions) {
    const { scheduler } = options;
    this.#options = options;
    this.policy = artemisPolicy({ scheduler });
    this.capabilities = Object.freeze({
      headers: true,
      publishDelay: Object.freeze({ kind: scheduler ? "native" : "none" }),
      order: "queue",
      keys: false,
      nativeCount: true,
      versionGate: true,
      leases: false,
      peek: true,
      size: true,
    });
  }

  async open(context: TransportContext, options: SignalOptions = {}): Promise<void> {
    const closing = this.#closing.signal;
    if (closing.aborted || this.#context !== undefined) {
      throw cannotOpen("Artemis", closing.aborted);
    }
    options.signal?.throwIfAborted();
    this.#context = context;
    const signal = options.signal ? AbortSignal.any([options.signal, closing]) : closing;
    const { connection, target } = this.#options;
    const connector = connection === undefined
      ? new Connector(context, (end, lost) => dial(target, end, lost))
      : new Connector(context);
    try {
      if (connection === undefined) await connector.open(signal);
      else await connector.adopt(connection, signal);
    } catch (error) {
      this.#context = undefined;
      throw error;
    }
    this.#connector = connector;
    this.#warnOfScheduler(connector, context);
  }

  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options: SignalOptions = {},
  ): Promise<readonly PublishOutcome[]> {
    const { context: { clock } } = this.#open(`publish to '${queue}'`);
    refuseDelays(queue, messages, this.capabilities.publishDelay, noDelays);
    options.signal?.throwIfAborted();
    const nowMs = clock.now();
    // Closing ends what is under way in every sender, with or without a signal.
    return await this.#sender(queue).send(
      messages.map((message) => toMessage(message, nowMs, this.#nativeOf(message))),
      options.signal,
    );
  }

  async subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    const { context, connector } = this.#open(`subscribe to '${queue}'`);
    assertQueueName(queue);
    const budget = options.snapshot
      ? (await sizeOf(connector, context.clock, queue)).ready
      : Infinity;
    const subscription = new ArtemisSubscription({
      queue,
      connector,
      context,
      options,
      budget,
      natives: this.#natives,
      sender: (to) => this.#sender(to),
      onClose: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(subscription);
    try {
      await subscription.open();
    } catch (error) {
      await subscription.close();
      throw error;
    }
    return subscription;
  }

  async *peek(queue: string, options: PeekOptions = {}): AsyncIterable<Peeked> {
    const { context, connector } = this.#open(`peek at '${queue}'`);
    assertQueueName(queue);
    yield* await browse(connector, context.clock, queue, options.max ?? 100);
  }

  async size(queue: string): Promise<QueueSize> {
    const { context, connector } = this.#open(`count '${queue}'`);
    assertQueueName(queue);
    return await sizeOf(connector, context.clock, queue);
  }

  async close(options: SignalOptions = {}): Promise<void> {
    await Promise.allSettled([...this.#subscriptions].map((one) => one.close(options)));
    this.#closing.abort();
    for (const sender of this.#senders.values()) sender.close();
    this.#senders.clear();
    const { clock } = this.#context ?? {};
    const connector = this.#connector;
    this.#connector = undefined;
    this.#context = undefined;
    if (connector === undefined || clock === undefined) return;
    await within(GOODBYE_MS, clock, options.signal, (over) => connector.close(over));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(verb: string): { context: TransportContext; connector: Connector } {
    if (this.#context !== undefined && this.#connector !== undefined) {
      return { context: this.#context, connector: this.#connector };
    }
    throw notOpen(verb, "Artemis", this.#closing.signal.aborted);
  }

  #sender(queue: string): Sender {
    assertQueueName(queue);
    let sender = this.#senders.get(queue);
    if (sender === undefined) {
      this.#dropIdle();
      sender = new Sender(queue, this.#connector!);
      this.#senders.set(queue, sender);
    }
    return sender;
  }

  #nativeOf({ from }: Outgoing): Received | undefined {
    return from && this.#natives.get(from);
  }

  /** An App that answers to ever new queues would gather links without end. */
  #dropIdle(): void {
    if (this.#senders.size < MOST_IDLE_SENDERS) return;
    for (const [queue, sender] of this.#senders) {
      if (!sender.idle) continue;
      sender.close();
      this.#senders.delete(queue);
      return;
    }
  }

  /** Such a broker would deliver at once what is to be delayed, without a word. */
  #warnOfScheduler(connector: Connector, context: TransportContext): void {
    if (!this.#options.scheduler || connector.offers.includes(SCHEDULER)) return;
    context.emit({
      type: "warning",
      code: "no_scheduler",
      message:
        "the broker does not offer to delay messages; the option 'scheduler: false' makes the worker hold what is to be retried later",
    });
  }
}

function noDelays(delayMs: number): string {
  return `the option 'scheduler' says that the broker cannot delay a message, and the delay is ${delayMs} ms`;
}

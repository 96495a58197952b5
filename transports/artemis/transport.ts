import {
  BabelQueueError,
  type Capabilities,
  type Delivery,
  type Outgoing,
  type Peeked,
  type PeekOptions,
  type PublishOutcome,
  type QueueSize,
  type SettlementPolicy,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type Transport,
  type TransportContext,
} from "@bq/core/transport";
import type { AmqpMessage } from "./_amqp.ts";
import { Connector } from "./_connector.ts";
import { dial } from "./_dial.ts";
import { closedError } from "./_errors.ts";
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
  readonly #natives: WeakMap<Delivery, AmqpMessage> = new WeakMap();
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
    if (this.#closing.signal.aborted || this.#context !== undefined) {
      const closed = this.#closing.signal.aborted;
      throw new BabelQueueError(
        closed ? "closed" : "invalid_option",
        `Cannot open the Artemis transport: it is ${closed ? "closed" : "open already"}`,
      );
    }
    options.signal?.throwIfAborted();
    this.#context = context;
    const closing = this.#closing.signal;
    const signal = options.signal ? AbortSignal.any([options.signal, closing]) : closing;
    const { connection, target } = this.#options;
    try {
      if (connection !== undefined) {
        const connector = new Connector(context);
        await connector.adopt(connection, signal);
        this.#connector = connector;
      } else {
        const connector = new Connector(context, (end, lost) => dial(target, end, lost));
        await connector.open(signal);
        this.#connector = connector;
      }
    } catch (error) {
      this.#context = undefined;
      throw error;
    }
    this.#warnOfScheduler(this.#connector, context);
  }

  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options: SignalOptions = {},
  ): Promise<readonly PublishOutcome[]> {
    const { context: { clock } } = this.#open(`publish to '${queue}'`);
    const delayed = messages.find(({ delayMs = 0 }) => delayMs > 0);
    if (delayed !== undefined && !this.#options.scheduler) {
      throw new BabelQueueError(
        "unsupported",
        `Cannot publish to '${queue}': the option 'scheduler' says that the broker cannot delay a message, and the delay is ${delayed.delayMs} ms`,
      );
    }
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
    assertName(queue);
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
    assertName(queue);
    yield* await browse(connector, context.clock, queue, options.max ?? 100);
  }

  async size(queue: string): Promise<QueueSize> {
    const { context, connector } = this.#open(`count '${queue}'`);
    assertName(queue);
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
    const patience = new AbortController();
    const ended = new AbortController();
    void clock.sleep(GOODBYE_MS, ended.signal).then(() => patience.abort());
    const { signal } = options;
    await connector.close(signal ? AbortSignal.any([signal, patience.signal]) : patience.signal);
    ended.abort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(verb: string): { context: TransportContext; connector: Connector } {
    if (this.#context !== undefined && this.#connector !== undefined) {
      return { context: this.#context, connector: this.#connector };
    }
    const closed = this.#closing.signal.aborted;
    throw closedError(verb, `the Artemis transport is ${closed ? "closed" : "not open yet"}`);
  }

  #sender(queue: string): Sender {
    assertName(queue);
    let sender = this.#senders.get(queue);
    if (sender === undefined) {
      this.#dropIdle();
      sender = new Sender(queue, this.#connector!);
      this.#senders.set(queue, sender);
    }
    return sender;
  }

  #nativeOf({ from }: Outgoing): AmqpMessage | undefined {
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

function assertName(queue: string): void {
  if (queue !== "") return;
  throw new BabelQueueError("invalid_option", "Cannot use a queue with an empty name");
}

import {
  assertQueueName,
  BabelQueueError,
  cannotOpen,
  type Capabilities,
  notOpen,
  type Outgoing,
  outgoingHeaders,
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
} from "@bq/core/transport";
import type { RedisClient } from "./client.ts";
import { adapted } from "./clients/adapt.ts";
import { ownClient } from "./clients/own.ts";
import { connectionError } from "./_errors.ts";
import { PollBackOff } from "./_idle.ts";
import { sizeOf, waiting } from "./_inspect.ts";
import type { Layout, QueueLayout } from "./_layout.ts";
import { assertOneSlot } from "./keys.ts";
import { legacyLayout } from "./legacy.ts";
import { Link } from "./_link.ts";
import { type RedisOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { assertBytes } from "./_probe.ts";
import { Publishing } from "./_publishing.ts";
import { RedisSubscription } from "./subscription.ts";
import { zsetLayout } from "./zset.ts";

/** The transport made by {@linkcode redis}: it can look at and count its queues. */
export interface RedisTransport extends Transport {
  /**
   * Looks at what waits, what is delayed and what is in flight, in this order, without removing any.
   * What is in flight in the zset layout is shown as it is reserved: with this delivery counted.
   */
  peek(queue: string, options?: PeekOptions): AsyncIterable<Peeked>;
  /** Counts a queue, at one moment; a dead-letter queue is a queue like any other. */
  size(queue: string): Promise<QueueSize>;
  /**
   * Puts back what consumers with `retryAfterMs: null` left in flight. Only while every consumer of the
   * queue is stopped: what one of them still works on would be handled twice. Contract: R79.
   *
   * @param queue Name of the queue.
   * @returns How many messages had no deadline.
   */
  requeueUnexpiring(queue: string): Promise<number>;
}

/**
 * Makes a transport on Redis or Valkey.
 *
 * @param options A URL, or {@linkcode RedisOptions}.
 * @returns The transport, to be handed to {@linkcode BabelQueue}.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound; also for a client that
 * cannot return bytes.
 *
 * @example A worker on the queue of a Laravel application
 * ```ts ignore
 * import { BabelQueue } from "@bq/core";
 * import { redis } from "@bq/redis";
 *
 * const bq = new BabelQueue(redis("redis://localhost:6379/0?laravel=1"), { queue: "orders" });
 * bq.handle("urn:babel:orders:created", (order) => console.log(order.order_id));
 * await bq.run({ concurrency: 10 });
 * ```
 */
export function redis(options: string | RedisOptions = {}): RedisTransport {
  return new OnRedis(resolveOptions(typeof options === "string" ? { url: options } : options));
}

class OnRedis implements RedisTransport {
  readonly name: string = "redis";
  readonly capabilities: Capabilities;
  readonly policy: SettlementPolicy;
  readonly #options: ResolvedOptions;
  readonly #given: RedisClient | undefined;
  readonly #layout: Layout;
  readonly #queues: Map<string, QueueLayout> = new Map();
  readonly #publishing: Map<string, Publishing> = new Map();
  readonly #polls: Map<string, PollBackOff> = new Map();
  readonly #subscriptions: Set<RedisSubscription> = new Set();
  readonly #closing: AbortController = new AbortController();
  #context: TransportContext | undefined;
  #link: Link | undefined;
  #saidHeaders = false;

  constructor(options: ResolvedOptions) {
    this.#options = options;
    this.#given = options.client === undefined ? undefined : adapted(options.client);
    this.#layout = options.layout === "zset" ? zsetLayout(options) : legacyLayout({
      ...options,
      bytes: (length) => this.#context!.bytes(length),
    });
    this.capabilities = this.#layout.capabilities;
    this.policy = this.#layout.policy;
  }

  async open(context: TransportContext, options: SignalOptions = {}): Promise<void> {
    if (this.#closing.signal.aborted || this.#context !== undefined) {
      throw cannotOpen("Redis", this.#closing.signal.aborted);
    }
    options.signal?.throwIfAborted();
    this.#context = context;
    let opened = false;
    let client: RedisClient | undefined;
    const abort = (): void => void client?.close?.();
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      client = this.#given ?? await ownClient(this.#options, () => opened);
      await client.connect?.();
      await assertBytes(client);
      options.signal?.throwIfAborted();
      opened = true;
      this.#link = new Link(client, context.clock, (up, error) => this.#report(up, error));
    } catch (error) {
      this.#context = undefined;
      if (this.#given === undefined) await client?.close?.();
      if (error instanceof BabelQueueError) throw error;
      throw connectionError("connect to Redis", error);
    } finally {
      options.signal?.removeEventListener("abort", abort);
    }
  }

  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options: SignalOptions = {},
  ): Promise<readonly PublishOutcome[]> {
    const { context, link } = this.#open(`publish to '${queue}'`);
    const layout = this.#queue(queue);
    refuseDelays(queue, messages, this.capabilities.publishDelay, noDelays);
    if (!this.#saidHeaders && !this.capabilities.headers) this.#tellOfHeaders(queue, messages);
    options.signal?.throwIfAborted();
    let publishing = this.#publishing.get(queue);
    if (publishing === undefined) {
      const { clock } = context;
      publishing = new Publishing({ queue, layout, link, clock, closing: this.#closing.signal });
      this.#publishing.set(queue, publishing);
    }
    return await publishing.publish(messages, options.signal);
  }

  async subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    const { context, link } = this.#open(`subscribe to '${queue}'`);
    const layout = this.#queue(queue);
    const poll = this.#polls.get(queue) ?? new PollBackOff();
    this.#polls.set(queue, poll);
    const budget = options.snapshot ? await this.#waiting(queue, layout, link, context) : Infinity;
    const subscription = new RedisSubscription({
      queue,
      layout,
      link,
      context,
      options,
      leases: this.capabilities.leases,
      batchSize: this.#options.batchSize,
      poll,
      budget,
      onClose: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async *peek(queue: string, options: PeekOptions = {}): AsyncIterable<Peeked> {
    const { link } = this.#open(`peek at '${queue}'`);
    const layout = this.#queue(queue);
    try {
      yield* waiting(link, layout, this.#layout.shown, options.max ?? 100);
    } catch (error) {
      throw connectionError(`peek at '${queue}'`, error);
    }
  }

  async size(queue: string): Promise<QueueSize> {
    const { link } = this.#open(`count '${queue}'`);
    try {
      return await sizeOf(link, this.#queue(queue));
    } catch (error) {
      if (error instanceof BabelQueueError) throw error;
      throw connectionError(`count '${queue}'`, error);
    }
  }

  async requeueUnexpiring(queue: string): Promise<number> {
    const { link } = this.#open(`requeue '${queue}'`);
    try {
      return Number(await link.run(this.#queue(queue).requeue()));
    } catch (error) {
      if (error instanceof BabelQueueError) throw error;
      throw connectionError(`requeue '${queue}'`, error);
    }
  }

  async close(options: SignalOptions = {}): Promise<void> {
    await Promise.allSettled([...this.#subscriptions].map((one) => one.close(options)));
    this.#closing.abort();
    const link = this.#link;
    this.#link = undefined;
    this.#context = undefined;
    link?.detach();
    if (this.#given === undefined) await link?.client.close?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(verb: string): { context: TransportContext; link: Link } {
    if (this.#context !== undefined && this.#link !== undefined) {
      return { context: this.#context, link: this.#link };
    }
    throw notOpen(verb, "Redis", this.#closing.signal.aborted);
  }

  /** The keys of a queue; in a cluster they have to be in one slot. Contract: R3. */
  #queue(name: string): QueueLayout {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      assertQueueName(name);
      queue = this.#layout.queue(name);
      if (this.#clustered) assertOneSlot(name, queue.keys);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  get #clustered(): boolean {
    return this.#options.cluster !== undefined || this.#given?.cluster === true;
  }

  /** Dropping them is no error, and saying it each time would drown the rest. Contract: R5. */
  #tellOfHeaders(queue: string, messages: readonly Outgoing[]): void {
    const some = messages.some((message) => Object.keys(outgoingHeaders(message) ?? {}).length > 0);
    if (!some) return;
    this.#saidHeaders = true;
    this.#context?.emit({
      type: "warning",
      code: "headers_dropped",
      message: `headers of a message to '${queue}' were dropped, as all will be: the zset layout ` +
        "has no place for them",
    });
  }

  /** How many messages can be received now, once everything that is due is back. */
  async #waiting(
    queue: string,
    layout: QueueLayout,
    link: Link,
    { clock }: TransportContext,
  ): Promise<number> {
    try {
      await link.run(layout.work(0, [], clock.now()));
      return (await sizeOf(link, layout)).ready;
    } catch (error) {
      throw connectionError(`subscribe to '${queue}'`, error);
    }
  }

  #report(up: boolean, error: Error | undefined): void {
    this.#context?.emit(
      up ? { type: "connected" } : { type: "disconnected", ...(error ? { error } : {}) },
    );
  }
}

/** Contract: R62. */
function noDelays(delayMs: number): string {
  return `the legacy layout cannot delay a message, and the delay is ${delayMs} ms; the zset layout can`;
}

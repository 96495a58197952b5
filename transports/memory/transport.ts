import { BabelQueueError } from "../../core/errors.ts";
import type { HeaderCarrier } from "../../core/headers.ts";
import { checkOptions, duration } from "../../runtime/option_checks.ts";
import { outgoingHeaders } from "../../runtime/outgoing.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import type {
  Capabilities,
  Outgoing,
  Peeked,
  PeekOptions,
  PublishOutcome,
  QueueSize,
  SignalOptions,
  SubscribeOptions,
  Subscription,
  Transport,
  TransportContext,
} from "../../runtime/transport.ts";
import { memoryPolicy } from "./policy.ts";
import { MemoryStore } from "./store.ts";
import { MemorySubscription } from "./subscription.ts";

/** Options of {@linkcode memory}. */
export interface MemoryOptions {
  /**
   * How long a delivery is held before another worker gets it, in milliseconds. A worker extends it
   * while its handler runs.
   *
   * @default {30000}
   */
  readonly leaseMs?: number;
  /**
   * The queues; give the same one to several transports that work on the same queues. They must be on
   * the same clock.
   *
   * @default {new MemoryStore()}
   */
  readonly store?: MemoryStore;
}

/** The transport made by {@linkcode memory}: it can always look at and count its queues. */
export interface MemoryTransport extends Transport {
  /** Looks at waiting, delayed and leased messages without removing any; the bodies are copies. */
  peek(queue: string, options?: PeekOptions): AsyncIterable<Peeked>;
  /** Counts a queue. */
  size(queue: string): Promise<QueueSize>;
}

const CAPABILITIES: Capabilities = Object.freeze({
  headers: true,
  publishDelay: Object.freeze({ kind: "native" }),
  order: "queue",
  keys: false,
  nativeCount: false,
  versionGate: false,
  leases: true,
  peek: true,
  size: true,
});

const NO_HEADERS: HeaderCarrier = Object.freeze(Object.create(null));

/**
 * A transport that keeps its queues in this process: for tests, for local work, and for hand-overs
 * within one process. Everything is gone with the process.
 *
 * @param options The lease and the store.
 * @returns The transport, for one {@linkcode BabelQueue}.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 *
 * @example Publish and handle without a broker
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const bq = new BabelQueue(memory(), { deadLetter: true });
 * const seen: unknown[] = [];
 * bq.handle("urn:babel:orders:created", (data) => {
 *   seen.push(data);
 * });
 * await bq.publish("urn:babel:orders:created", { order_id: 1042 });
 * await bq.consume({ waitMs: 0 });
 * await bq.close();
 * assert.deepEqual(seen, [{ order_id: 1042 }]);
 * ```
 */
export function memory(options: MemoryOptions = {}): MemoryTransport {
  const { leaseMs = 30_000, store = new MemoryStore() } = checkOptions(options, {
    leaseMs: duration(1),
    store: checkStore,
  });
  return new InMemory(leaseMs, store);
}

function frozenCopy(headers: HeaderCarrier | undefined): HeaderCarrier {
  if (headers === undefined) return NO_HEADERS;
  return Object.freeze(Object.assign(Object.create(null), headers));
}

function checkStore(name: string, value: unknown): void {
  if (value instanceof MemoryStore) return;
  throw new BabelQueueError(
    "invalid_option",
    `Cannot set option '${name}': it must be a MemoryStore`,
  );
}

class InMemory implements MemoryTransport {
  readonly name: string = "memory";
  readonly capabilities: Capabilities = CAPABILITIES;
  readonly policy: SettlementPolicy = memoryPolicy();
  readonly #leaseMs: number;
  readonly #store: MemoryStore;
  readonly #subscriptions: Set<MemorySubscription> = new Set();
  #context: TransportContext | undefined;
  #closed = false;

  constructor(leaseMs: number, store: MemoryStore) {
    this.#leaseMs = leaseMs;
    this.#store = store;
  }

  // deno-lint-ignore require-await
  async open(context: TransportContext, options?: SignalOptions): Promise<void> {
    options?.signal?.throwIfAborted();
    if (this.#closed || this.#context !== undefined) {
      throw new BabelQueueError(
        this.#closed ? "closed" : "invalid_option",
        `Cannot open the memory transport: it is ${
          this.#closed ? "closed" : "open already; share its queues through a MemoryStore"
        }`,
      );
    }
    this.#context = context;
  }

  // deno-lint-ignore require-await
  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options?: SignalOptions,
  ): Promise<readonly PublishOutcome[]> {
    const { clock } = this.#open(`publish to '${queue}'`);
    options?.signal?.throwIfAborted();
    const target = this.#store.queue(queue);
    const nowMs = clock.elapsed();
    for (const message of messages) {
      const { body, delayMs, from, verbatim } = message;
      target.put(
        {
          // A copy: what the caller does with its bytes later must not reach a consumer.
          body: new Uint8Array(body),
          headers: frozenCopy(outgoingHeaders(message)),
          beside: verbatim ? from?.counting.beside : undefined,
        },
        nowMs,
        delayMs ?? 0,
      );
    }
    return messages.map(() => ({ status: "confirmed" }));
  }

  // deno-lint-ignore require-await
  async subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    const context = this.#open(`subscribe to '${queue}'`);
    const subscription = new MemorySubscription({
      store: this.#store,
      name: queue,
      leaseMs: this.#leaseMs,
      context,
      options,
      onClose: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(subscription);
    return subscription;
  }

  async *peek(queue: string, options: PeekOptions = {}): AsyncIterable<Peeked> {
    const { clock } = this.#open(`peek at '${queue}'`);
    yield* this.#store.find(queue)?.peek(clock.elapsed(), options.max ?? 100) ?? [];
  }

  // deno-lint-ignore require-await
  async size(queue: string): Promise<QueueSize> {
    const { clock } = this.#open(`count '${queue}'`);
    return this.#store.find(queue)?.size(clock.elapsed()) ?? { ready: 0, delayed: 0, inFlight: 0 };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#context = undefined;
    await Promise.all([...this.#subscriptions].map((subscription) => subscription.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(verb: string): TransportContext {
    if (this.#context !== undefined) return this.#context;
    throw new BabelQueueError(
      "closed",
      `Cannot ${verb}: the memory transport is ${this.#closed ? "closed" : "not open yet"}`,
    );
  }
}

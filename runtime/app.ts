/**
 * The App: publishing, handling, and the life of both.
 *
 * @module
 */

import { settledWithin } from "./_waits.ts";
import { Deadlines } from "./_deadlines.ts";
import { type Inspection, peekAt, sizeOf } from "./_inspect.ts";
import { startWarnings } from "./_start_warnings.ts";
import { Connection } from "./connection.ts";
import { Crew } from "./crew.ts";
import type { Handler, Middleware } from "./context.ts";
import type { HandlerRunner } from "./handler.ts";
import { type BabelQueueEvent, EventHub } from "./events.ts";
import type { Health } from "./health.ts";
import { BabelQueueError } from "../core/errors.ts";
import type { JsonObject } from "../core/envelope.ts";
import type { MessageDefinition } from "./message.ts";
import { abortSignal, checkOptions } from "./option_checks.ts";
import { type BabelQueueOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import type {
  PublishItem,
  PublishOptions,
  PublishRawOptions,
  SendOptions,
} from "./publish_options.ts";
import { Publisher } from "./publisher.ts";
import { type HandleOptions, Router } from "./router.ts";
import {
  CONSUME_CHECKS,
  type ConsumeOptions,
  type ConsumeResult,
  queuesOf,
  RUN_CHECKS,
  type RunOptions,
} from "./run_options.ts";
import { planShutdown } from "./shutdown.ts";
import type { Peeked, PeekOptions, QueueSize, SignalOptions, Transport } from "./transport.ts";

/**
 * Publishes messages and works on queues, over one transport.
 *
 * It owns the transport: `close` disconnects it. Every delivery is at least once, so handlers must be
 * idempotent; `ctx.messageId` is what to deduplicate on.
 *
 * @example Publish and handle
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true });
 * const handled: unknown[] = [];
 * bq.handle("urn:babel:orders:created", (order, ctx) => {
 *   handled.push([order.order_id, ctx.attempt]);
 * });
 * await bq.publish("urn:babel:orders:created", { order_id: 1042 });
 * const counts = await bq.consume();
 * await bq.close();
 * assert.equal(counts.handled, 1);
 * assert.deepEqual(handled, [[1042, 1]]);
 * ```
 */
export class BabelQueue implements AsyncDisposable {
  /** The transport. */
  readonly transport: Transport;
  readonly #options: ResolvedOptions;
  readonly #deadLetterSet: boolean;
  readonly #hub: EventHub;
  readonly #connection: Connection;
  readonly #deadlines: Deadlines;
  readonly #publisher: Publisher;
  readonly #router: Router = new Router();
  /** What was said once already, in the whole life of the App. */
  readonly #said: Set<string> = new Set();
  readonly #inspection: Inspection;
  readonly #runner: HandlerRunner;
  readonly #crew: Crew;
  #closing: Promise<void> | undefined;
  #closed = false;

  /**
   * Makes an App; nothing is opened yet.
   *
   * @param transport The broker; owned from now on.
   * @param options What differs from the defaults.
   * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
   */
  constructor(transport: Transport, options: BabelQueueOptions = {}) {
    const { open, policy, capabilities } = (transport ?? {}) as Partial<Transport>;
    if (typeof open !== "function" || !policy || !capabilities) {
      const hint = typeof transport === "function" ? ": call it, for instance memory()" : "";
      throw new BabelQueueError(
        "invalid_option",
        `Cannot make an App: the first argument is no transport${hint}`,
      );
    }
    this.#options = resolveOptions(options);
    const { clock, random, onEvent, queue } = this.#options;
    this.transport = transport;
    this.#deadLetterSet = options.deadLetter !== undefined ||
      options.deadLetterQueue !== undefined || options.onUnknownUrn === "dead_letter";
    this.#hub = new EventHub(onEvent);
    this.#deadlines = new Deadlines(clock);
    this.#connection = new Connection(transport, clock, random, this.#hub, this.#deadlines);
    const [connection, deadlines] = [this.#connection, this.#deadlines];
    this.#inspection = { transport, connection, deadlines };
    this.#publisher = new Publisher(transport, connection, clock, deadlines, queue);
    this.#runner = {
      middlewares: [],
      publish: this.#publisher.publish.bind(this.#publisher),
    };
    this.#crew = new Crew({
      transport,
      options: this.#options,
      clock,
      hub: this.#hub,
      router: this.#router,
      connection: this.#connection,
      said: this.#said,
      runner: this.#runner,
    });
  }

  /**
   * Opens and proves the connection. Publishing and working do it by themselves; call it to find out
   * early. It tries for 30 s, or until the signal is aborted.
   *
   * @param options `signal` ends the wait.
   * @throws {ConnectionError} what the last try met; at once when trying again cannot help.
   */
  async connect(options: SignalOptions = {}): Promise<void> {
    const { signal } = checkOptions(options, { signal: abortSignal });
    await this.#connection.connect(signal);
  }

  /**
   * Publishes one message and waits for the broker's confirmation; connects on first use.
   *
   * @param message The URN, or a definition whose schema the data must satisfy.
   * @param data The payload, a JSON object; a `bigint` is written as an integer.
   * @param options Queue, key, delay, headers, trace, deadline.
   * @returns `meta.id` of the message.
   * @throws {InvalidPayloadError} when the data does not satisfy the schema.
   * @throws {PublishUncertainError} when it was sent and not confirmed: it may be there.
   * @throws {BabelQueueError} `invalid_data`, `invalid_envelope`, `invalid_option`, `unsupported` (a
   * delay beyond what the transport can do), `publish_failed`, `connection`, `closed`: it is not there.
   *
   * @example Later, on another queue
   * ```ts
   * import { BabelQueue, memory } from "@bq/core";
   * import assert from "node:assert/strict";
   *
   * const bq = new BabelQueue(memory());
   * const id = await bq.publish("urn:babel:mail:send", { to: "a@example.com" }, {
   *   queue: "mail",
   *   delayMs: 60_000,
   *   headers: { "x-tenant": "7" },
   * });
   * await bq.close();
   * assert.match(id, /^[0-9a-f-]{36}$/);
   * ```
   */
  publish<Input = object>(
    message: string | MessageDefinition<Input, unknown>,
    data: NoInfer<Input>,
    options?: PublishOptions,
  ): Promise<string> {
    return this.#publisher.publish(
      message as MessageDefinition<unknown, unknown>,
      data,
      options,
    );
  }

  /**
   * Publishes many messages, in the order given within a queue. Nothing is sent unless every one is
   * valid.
   *
   * @param items The messages.
   * @param options Deadline and signal of the whole.
   * @returns `meta.id` of each.
   * @throws {PublishManyError} when some were not confirmed; `results` says which.
   * @throws {BabelQueueError} as `publish`, for the first message that is not valid.
   */
  publishMany<Input = object>(
    items: readonly PublishItem<Input>[],
    options?: SendOptions,
  ): Promise<string[]> {
    return this.#publisher.publishMany(items as readonly PublishItem<unknown>[], options);
  }

  /**
   * Publishes any bytes as they are; for bridges, tools and tests.
   *
   * @param queue Queue to publish to.
   * @param body The bytes.
   * @param options Key, delay, headers, deadline.
   * @throws {BabelQueueError} as `publish`.
   */
  publishRaw(queue: string, body: Uint8Array, options?: PublishRawOptions): Promise<void> {
    return this.#publisher.publishRaw(queue, body, options);
  }

  /**
   * Registers the handler of a URN. Returning acknowledges the message; throwing retries it, and
   * dead-letters or drops it at the last attempt.
   *
   * Where a foreign producer left out `data` the handler of a plain URN gets null, unless the App's
   * option `strict` is on. Contract: C48a.
   *
   * @param message The URN, or a definition whose schema gives the data's type.
   * @param handler Gets the data and the context.
   * @param options Queue, attempts, time-out, exact integers.
   * @returns This App.
   * @throws {BabelQueueError} `duplicate_handler` or `invalid_option`.
   */
  handle(urn: string, handler: Handler<JsonObject>, options?: HandleOptions): this;
  /** Registers the handler of a definition; its data has the type of the schema's output. */
  handle<Input, Output>(
    message: MessageDefinition<Input, Output>,
    handler: Handler<Output>,
    options?: HandleOptions,
  ): this;
  handle(
    message: string | MessageDefinition<unknown, unknown>,
    handler: Handler<never>,
    options: HandleOptions = {},
  ): this {
    this.#router.add(message, handler as Handler<unknown>, options);
    return this;
  }

  /**
   * Wraps every handler registered here, the first middleware outermost. It holds for messages
   * whose handling begins from now on.
   *
   * @param middleware Calls `next` to go on; what it throws takes the failure route.
   * @returns This App.
   * @throws {BabelQueueError} `invalid_option` when it is no function.
   */
  use(middleware: Middleware): this {
    if (typeof middleware !== "function") {
      throw new BabelQueueError("invalid_option", "Cannot add a middleware: it is no function");
    }
    // A message that is inside them keeps the ones it began with.
    this.#runner.middlewares = [...this.#runner.middlewares, middleware];
    return this;
  }

  /**
   * Works until stopped, by `signal`, `stop()` or `close()`.
   *
   * @param options Queues, concurrency, signals.
   * @throws {BabelQueueError} `invalid_option`, `closed`, or when a queue is worked on already.
   * @throws {ConnectionError} when the transport meets an error that trying again cannot cure.
   */
  async run(options: RunOptions = {}): Promise<void> {
    const given = checkOptions(options, RUN_CHECKS);
    const concurrency = given.concurrency ?? this.#options.concurrency;
    const queues = queuesOf(given.queues ?? [this.#options.queue], concurrency);
    const waitMs = this.#options.pollTimeoutMs;
    const workers = this.#crew.hire(
      queues.map(([queue, slots]) => ({ queue, concurrency: slots, waitMs })),
    );
    const warnings = startWarnings({
      handlers: this.#router.size,
      deadLetterSet: this.#deadLetterSet,
      maxAttempts: this.#options.maxAttempts,
      policy: this.transport.policy,
    });
    for (const [code, message] of warnings) {
      this.#hub.emit({ level: "warn", type: "warning", code, message });
    }
    await this.#crew.work(workers, given.signal, given.forceSignal);
  }

  /**
   * Works until the first receive that brings nothing, or until `maxMessages` have been taken.
   *
   * @param options Queue, limits.
   * @returns What became of the messages.
   * @throws as `run`.
   */
  async consume(options: ConsumeOptions = {}): Promise<ConsumeResult> {
    const { queue, concurrency, waitMs, maxMessages, signal } = checkOptions(
      options,
      CONSUME_CHECKS,
    );
    const [worker] = this.#crew.hire([{
      queue: queue ?? this.#options.queue,
      concurrency: concurrency ?? this.#options.concurrency,
      waitMs: waitMs ?? this.#options.pollTimeoutMs,
      untilEmpty: true,
      ...(maxMessages === undefined ? {} : { maxMessages }),
    }]);
    await this.#crew.work([worker!], signal);
    return { ...worker!.counts };
  }

  /**
   * Looks at the messages of a queue without removing any; connects on first use.
   *
   * @param queue The queue; a dead-letter queue is one like any other.
   * @param options How many at most.
   * @returns The messages; the connection is made, and errors come, when the first one is asked for.
   * @throws {BabelQueueError} `unsupported` where the transport cannot.
   * @throws {ConnectionError} when the broker does not answer within 30 s.
   */
  peek(queue: string = this.#options.queue, options: PeekOptions = {}): AsyncIterable<Peeked> {
    return peekAt(this.#inspection, queue, options);
  }

  /**
   * Counts a queue; connects on first use.
   *
   * @param queue The queue; a dead-letter queue is one like any other.
   * @returns How many messages wait, are delayed and are in flight.
   * @throws {BabelQueueError} `unsupported` where the transport cannot.
   * @throws {ConnectionError} when the broker does not answer within 30 s.
   */
  size(queue: string = this.#options.queue): Promise<QueueSize> {
    return sizeOf(this.#inspection, queue);
  }

  /**
   * Ends intake, finishes and settles what is in flight, within `shutdownTimeoutMs`. The connection
   * stays, and `run` may be called again.
   */
  stop(): Promise<void> {
    return this.#crew.stop();
  }

  /**
   * Stops and disconnects, within `shutdownTimeoutMs`. Further calls wait for the first.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * How it is doing now.
   *
   * @returns State, connection, and what each queue is at.
   */
  health(): Health {
    const { state, queues } = this.#crew.health();
    return {
      state: this.#closed ? "closed" : this.#closing ? "stopping" : state,
      connected: this.#connection.up,
      queues,
    };
  }

  /**
   * The events from now on; the iterator ends when the App is closed.
   *
   * @returns The iterator.
   */
  events(): AsyncIterableIterator<BabelQueueEvent> {
    return this.#hub.read();
  }

  async #close(): Promise<void> {
    const { clock, shutdownTimeoutMs } = this.#options;
    const { endsAtMs } = planShutdown(clock.elapsed(), shutdownTimeoutMs);
    await this.#crew.close();
    const abort = new AbortController();
    const leftMs = Math.max(0, endsAtMs - clock.elapsed());
    const closing = this.#connection.close(abort.signal, leftMs);
    const inTime = await settledWithin(closing, leftMs, clock);
    abort.abort();
    this.#publisher.close();
    this.#deadlines.close();
    this.#closed = true;
    if (!inTime) this.#hub.emit({ level: "error", type: "shutdownTimedOut", unfinished: 0 });
    this.#hub.close();
    if (inTime) await closing;
  }
}

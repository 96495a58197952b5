/**
 * The way of a message to the broker: validate, make, encode, publish, wait for the confirmation.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { EncodeMemo, encodeNew } from "../core/encode.ts";
import {
  BabelQueueError,
  PublishManyError,
  type PublishResult,
  PublishUncertainError,
} from "../core/errors.ts";
import { sanitizeHeaders } from "../core/headers.ts";
import { asError } from "../core/thrown.ts";
import { PublishWait } from "./_publish_wait.ts";
import type { Deadlines } from "./_deadlines.ts";
import type { Connection } from "./connection.ts";
import { type MessageDefinition, validate } from "./message.ts";
import {
  abortSignal,
  checkOptions,
  duration,
  type OptionCheck,
  refuseOption,
  text,
} from "./option_checks.ts";
import type { Outgoing, PublishOutcome, Transport } from "./transport.ts";

/** Options of a publish that are not about the message itself. */
export interface SendOptions {
  /**
   * Time until the publish fails, in milliseconds, schema and connecting included. Nothing is sent any
   * more once a tenth of it, at most a second, is left.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number;
  /**
   * Ends the publish early; the broker's answer is waited for a second longer.
   *
   * @default {undefined}
   */
  readonly signal?: AbortSignal;
}

/** Where and how one message is published. */
export interface MessageOptions {
  /**
   * Queue to publish to.
   *
   * @default {the App's queue}
   */
  readonly queue?: string;
  /**
   * Kafka record key, FIFO group, session or Pulsar key, where the broker has one. Null and empty are
   * different.
   *
   * @default {undefined}
   */
  readonly key?: string | Uint8Array | null;
  /**
   * Wait before the first delivery, in milliseconds.
   *
   * @default {0}
   */
  readonly delayMs?: number;
  /**
   * Headers beside the body; entries with an empty name or value are dropped, and so are all where
   * the broker has no place for them. Contract: C303–C305.
   *
   * @default {undefined}
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Id of the causal chain to continue.
   *
   * @default {a new UUID}
   */
  readonly traceId?: string;
  /**
   * Extension members of `meta`, for instance `{ ext: { acme: { tenant: 7 } } }`. Contract: C51.
   *
   * @default {undefined}
   */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Options of `publish`. */
export interface PublishOptions extends MessageOptions, SendOptions {}

/** One message of a `publishMany`. */
export interface PublishItem<Input = object> extends MessageOptions {
  /** The URN, or the definition. */
  readonly message: string | MessageDefinition<Input, unknown>;
  /** The data. */
  readonly data: Input;
}

/** Options of `publishRaw`. */
export interface PublishRawOptions extends SendOptions {
  /** As for `publish`. */
  readonly key?: string | Uint8Array | null;
  /** As for `publish`. */
  readonly delayMs?: number;
  /** As for `publish`. */
  readonly headers?: Readonly<Record<string, string>>;
}

const DEFAULT_TIMEOUT_MS = 30_000;

const anything: OptionCheck = () => {};
const RAW_CHECKS = {
  key: ((name, value) => {
    if (value !== null && typeof value !== "string" && !(value instanceof Uint8Array)) {
      refuseOption(name, value, "a string, bytes or null");
    }
  }) as OptionCheck,
  delayMs: duration(0),
  headers: ((name, value) => {
    if (typeof value !== "object" || value === null) refuseOption(name, value, "an object");
  }) as OptionCheck,
  timeoutMs: duration(1),
  signal: abortSignal,
};
const PUBLISH_CHECKS = {
  ...RAW_CHECKS,
  queue: text,
  traceId: ((name, value) => {
    if (typeof value !== "string") refuseOption(name, value, "a string");
  }) as OptionCheck,
  meta: RAW_CHECKS.headers,
};
const ITEM_CHECKS = { ...PUBLISH_CHECKS, message: anything, data: anything };

interface Prepared {
  readonly queue: string;
  readonly outgoing: Outgoing;
  readonly id: string;
}

/** Publishes, within a deadline, on a connection that it opens when needed. */
export class Publisher {
  readonly #transport: Transport;
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #queue: string;
  readonly #memo: EncodeMemo = new EncodeMemo();
  /** What ends the wait of each publish under way. */
  readonly #underWay: Set<PublishWait> = new Set();

  constructor(
    transport: Transport,
    connection: Connection,
    clock: Clock,
    deadlines: Deadlines,
    queue: string,
  ) {
    this.#transport = transport;
    this.#connection = connection;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#queue = queue;
  }

  /** One message; the result is its `meta.id`. */
  async publish(
    message: string | MessageDefinition<unknown, unknown>,
    data: unknown,
    options: PublishOptions = {},
  ): Promise<string> {
    checkOptions(options, PUBLISH_CHECKS);
    return await this.#within(options, async (wait) => {
      const { queue, outgoing, id } = await this.#prepare(message, data, options, wait);
      const [outcome] = await this.#send(queue, [outgoing], wait);
      throwUnlessConfirmed(outcome, queue);
      return id;
    });
  }

  /** Any bytes, as they are. */
  async publishRaw(
    queue: string,
    body: Uint8Array,
    options: PublishRawOptions = {},
  ): Promise<void> {
    checkOptions(options, RAW_CHECKS);
    text("queue", queue);
    if (!(body instanceof Uint8Array)) refuseOption("body", body, "a Uint8Array");
    const outgoing = this.#outgoing(queue, body, options);
    await this.#within(options, async (wait) => {
      const [outcome] = await this.#send(queue, [outgoing], wait);
      throwUnlessConfirmed(outcome, queue);
    });
  }

  /** Many messages; nothing is sent unless every one is valid. In order within a queue. */
  async publishMany(
    items: readonly PublishItem<unknown>[],
    options: SendOptions = {},
  ): Promise<string[]> {
    checkOptions(options, { timeoutMs: RAW_CHECKS.timeoutMs, signal: abortSignal });
    for (const [index, item] of items.entries()) {
      checkOptions(item, ITEM_CHECKS, `items[${index}].`);
    }
    const results = await this.#within(options, async (wait) => {
      const prepared: Prepared[] = [];
      for (const item of items) {
        prepared.push(await this.#prepare(item.message, item.data, item, wait));
      }
      return await this.#sendAll(prepared, wait);
    });
    if (results.some((result) => result.status !== "confirmed")) {
      throw new PublishManyError(results);
    }
    return results.map((result) => result.id);
  }

  async #sendAll(
    prepared: readonly Prepared[],
    wait: PublishWait,
  ): Promise<readonly PublishResult[]> {
    const queues = Map.groupBy(prepared.keys(), (index) => prepared[index]!.queue);
    const results: PublishResult[] = new Array(prepared.length);
    await Promise.all([...queues].map(async ([queue, indexes]) => {
      const outcomes = await this.#send(queue, indexes.map((i) => prepared[i]!.outgoing), wait);
      indexes.forEach((index, at) => {
        results[index] = { id: prepared[index]!.id, ...(outcomes[at] ?? unanswered(queue)) };
      });
    }));
    return results;
  }

  /** Ends every publish under way; what was sent and is not confirmed stays uncertain. */
  close(): void {
    for (const wait of this.#underWay) wait.close();
  }

  async #prepare(
    message: string | MessageDefinition<unknown, unknown>,
    data: unknown,
    options: MessageOptions,
    wait: PublishWait,
  ): Promise<Prepared> {
    const queue = options.queue ?? this.#queue;
    if (typeof message !== "string") {
      const isSchema = ["object", "function"].includes(typeof message?.schema);
      if (!isSchema || typeof message.urn !== "string") {
        throw new BabelQueueError(
          "invalid_envelope",
          `Cannot publish to '${queue}': the message is neither a URN nor a definition`,
        );
      }
      await wait.before(() => validate(message, data), queue);
    }
    const urn = typeof message === "string" ? message : message.urn;
    const { body, id } = encodeNew(
      urn,
      data as object,
      {
        queue,
        nowMs: this.#clock.now(),
        memo: this.#memo,
        ...(options.traceId === undefined ? {} : { traceId: options.traceId }),
        ...(options.meta === undefined ? {} : { meta: options.meta }),
      },
    );
    return { queue, outgoing: this.#outgoing(queue, body, options), id };
  }

  #outgoing(queue: string, body: Uint8Array, options: PublishRawOptions): Outgoing {
    const { key, delayMs = 0, headers } = options;
    this.#refuseDelay(queue, delayMs);
    return {
      body,
      ...(key === undefined ? {} : { key }),
      ...(delayMs > 0 ? { delayMs } : {}),
      ...(headers === undefined ? {} : { headers: sanitizeHeaders(headers) }),
    };
  }

  #refuseDelay(queue: string, delayMs: number): void {
    const { publishDelay } = this.#transport.capabilities;
    const limit = publishDelay.kind === "none"
      ? 0
      : publishDelay.kind === "native"
      ? publishDelay.maxMs ?? Infinity
      : publishDelay.tiersMs.at(-1) ?? 0;
    if (delayMs <= limit) return;
    throw new BabelQueueError(
      "unsupported",
      limit === 0
        ? `Cannot publish to '${queue}': '${this.#transport.name}' as it is set up cannot delay a message, and the delay is ${delayMs} ms`
        : `Cannot publish to '${queue}': delay ${delayMs} ms exceeds the '${this.#transport.name}' maximum of ${limit} ms`,
    );
  }

  /** Never rejects for what became of a message: that is its outcome. */
  async #send(
    queue: string,
    messages: readonly Outgoing[],
    wait: PublishWait,
  ): Promise<readonly PublishOutcome[]> {
    let sent = false;
    try {
      await this.#connection.ready(wait.calledOff);
      if (wait.calledOff.aborted) throw wait.notSent(queue);
      sent = true;
      const options = { signal: wait.calledOff };
      return await wait.sending(() => this.#transport.publish(queue, messages, options), queue);
    } catch (error) {
      const uncertain = sent && error instanceof PublishUncertainError;
      return messages.map(() => ({
        status: uncertain ? "uncertain" : "failed",
        error: asPublishError(error, queue),
      }));
    }
  }

  /** Runs a whole publish, preparation included, within its time. */
  async #within<T>(options: SendOptions, work: (wait: PublishWait) => Promise<T>): Promise<T> {
    this.#connection.refuseClosed();
    const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
    const wait = new PublishWait(this.#deadlines, timeoutMs, signal);
    this.#underWay.add(wait);
    try {
      return await work(wait);
    } finally {
      this.#underWay.delete(wait);
      wait.end();
    }
  }
}

function unanswered(queue: string): PublishOutcome {
  const error = new PublishUncertainError(
    `Cannot confirm a publish to '${queue}': the transport gave no outcome`,
  );
  return { status: "uncertain", error };
}

function asPublishError(error: unknown, queue: string): Error {
  if (error instanceof BabelQueueError) return error;
  const { message } = asError(error);
  return new BabelQueueError("publish_failed", `Cannot publish to '${queue}': ${message}`, {
    cause: error,
  });
}

function throwUnlessConfirmed(outcome: PublishOutcome | undefined, queue: string): void {
  const { status, ...rest } = outcome ?? unanswered(queue);
  if (status === "confirmed") return;
  const { error } = rest as { error: Error };
  if (status === "failed") throw asPublishError(error, queue);
  if (error instanceof PublishUncertainError) throw error;
  throw new PublishUncertainError(`Cannot confirm a publish to '${queue}': ${error.message}`, {
    cause: error,
  });
}

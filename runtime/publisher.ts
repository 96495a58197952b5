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
import { asError, codeOf, isA } from "../core/thrown.ts";
import { outcomesOf } from "./_answers.ts";
import { PublishWait } from "./_publish_wait.ts";
import { issue } from "./_waits.ts";
import type { Deadlines } from "./_deadlines.ts";
import type { Connection } from "./connection.ts";
import { isDefinition, type MessageDefinition, validate } from "./message.ts";
import { checkOptions, refuseOption, text } from "./option_checks.ts";
import {
  ITEM_CHECKS,
  type MessageOptions,
  PUBLISH_CHECKS,
  type PublishItem,
  type PublishOptions,
  type PublishRawOptions,
  RAW_CHECKS,
  SEND_CHECKS,
  type SendOptions,
} from "./publish_options.ts";
import type { Outgoing, PublishOutcome, Transport } from "./transport.ts";
import { longestDelayMs } from "./transport_rules.ts";

const DEFAULT_TIMEOUT_MS = 30_000;

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
    given: PublishOptions = {},
  ): Promise<string> {
    const options = checkOptions(given, PUBLISH_CHECKS);
    const wait = this.#begin(options);
    try {
      const prepared = this.#prepare(message, data, options, wait);
      const { queue, outgoing, id } = prepared instanceof Promise ? await prepared : prepared;
      const outcomes = await this.#send(queue, [outgoing], wait);
      throwUnlessConfirmed(outcomes[0]!, queue);
      return id;
    } finally {
      this.#end(wait);
    }
  }

  /** Any bytes, as they are. */
  async publishRaw(
    queue: string,
    body: Uint8Array,
    given: PublishRawOptions = {},
  ): Promise<void> {
    const options = checkOptions(given, RAW_CHECKS);
    text("queue", queue);
    if (!(body instanceof Uint8Array)) refuseOption("body", body, "a Uint8Array");
    const outgoing = this.#outgoing(queue, copied(body), options);
    const wait = this.#begin(options);
    try {
      const outcomes = await this.#send(queue, [outgoing], wait);
      throwUnlessConfirmed(outcomes[0]!, queue);
    } finally {
      this.#end(wait);
    }
  }

  /** Many messages; nothing is sent unless every one is valid. In order within a queue. */
  async publishMany(
    given: readonly PublishItem<unknown>[],
    givenOptions: SendOptions = {},
  ): Promise<string[]> {
    const options = checkOptions(givenOptions, SEND_CHECKS);
    if (!Array.isArray(given)) refuseOption("items", given, "an array");
    const items = Array.from(
      given as readonly PublishItem<unknown>[],
      (item, index) => checkOptions(item, ITEM_CHECKS, `items[${index}].`),
    );
    const wait = this.#begin(options);
    try {
      const prepared: Prepared[] = [];
      for (const one of this.#prepareAll(items, wait)) {
        prepared.push(one instanceof Promise ? await one : one);
      }
      const results = await this.#sendAll(prepared, wait);
      if (results.some((result) => result.status !== "confirmed")) {
        throw new PublishManyError(results);
      }
      return results.map((result) => result.id);
    } finally {
      this.#end(wait);
    }
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
        results[index] = { id: prepared[index]!.id, ...outcomes[at]! };
      });
    }));
    return results;
  }

  /** Ends every publish under way; what was sent and is not confirmed stays uncertain. */
  close(): void {
    for (const wait of this.#underWay) wait.close();
  }

  /** Encodes messages in the call itself, so that nothing the caller changes later can reach them, up to the first that cannot be sent. */
  #prepareAll(
    items: readonly PublishItem<unknown>[],
    wait: PublishWait,
  ): readonly (Prepared | Promise<Prepared>)[] {
    const prepared: (Prepared | Promise<Prepared>)[] = [];
    for (const item of items) {
      try {
        prepared.push(this.#prepare(item.message, item.data, item, wait));
      } catch (error) {
        // An earlier one may still be refused by its schema, and that is told first.
        prepared.push(Promise.reject(error));
        break;
      }
    }
    // Only the first refusal is heard.
    for (const one of prepared) if (one instanceof Promise) one.catch(() => {});
    return prepared;
  }

  #prepare(
    message: string | MessageDefinition<unknown, unknown>,
    data: unknown,
    options: MessageOptions,
    wait: PublishWait,
  ): Prepared | Promise<Prepared> {
    const queue = options.queue ?? this.#queue;
    if (typeof message === "string") return this.#encode(message, data, queue, options);
    if (isDefinition(message)) return this.#prepareChecked(message, data, queue, options, wait);
    throw new BabelQueueError(
      "invalid_envelope",
      `Cannot publish to '${queue}': the message is neither a URN nor a definition`,
    );
  }

  /** Waits for the schema to agree; what it has to say comes before what the codec says. */
  async #prepareChecked(
    message: MessageDefinition<unknown, unknown>,
    data: unknown,
    queue: string,
    options: MessageOptions,
    wait: PublishWait,
  ): Promise<Prepared> {
    const encoded = issue(() => Promise.resolve(this.#encode(message.urn, data, queue, options)));
    const agreed = wait.before(() => validate(message, data), queue);
    await Promise.allSettled([agreed, encoded]);
    await agreed;
    return await encoded;
  }

  #encode(urn: string, data: unknown, queue: string, options: MessageOptions): Prepared {
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
    return { queue, outgoing: { ...this.#outgoing(queue, body, options), canonical: true }, id };
  }

  #outgoing(queue: string, body: Uint8Array, options: PublishRawOptions): Outgoing {
    const { key, delayMs = 0, headers } = options;
    this.#refuseDelay(queue, delayMs);
    return {
      body,
      ...(key === undefined ? {} : { key: key instanceof Uint8Array ? copied(key) : key }),
      ...(delayMs > 0 ? { delayMs } : {}),
      ...(headers === undefined ? {} : { headers: sanitizeHeaders(headers) }),
    };
  }

  #refuseDelay(queue: string, delayMs: number): void {
    const limit = longestDelayMs(this.#transport.capabilities.publishDelay);
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
      if (wait.calledOff.aborted) throw wait.notSent(queue);
      if (!this.#connection.isReady(wait.sinceMs)) {
        await this.#connection.ready(wait.calledOff);
        if (wait.calledOff.aborted) throw wait.notSent(queue);
      }
      sent = true;
      const options = { signal: wait.calledOff };
      const answer = await wait.sending(
        () => this.#transport.publish(queue, messages, options),
        queue,
      );
      return outcomesOf(answer, messages.length, queue);
    } catch (error) {
      const outcome: PublishOutcome = sent && codeOf(error) === "publish_uncertain"
        ? { status: "uncertain", error: asError(error) }
        : { status: "failed", error: asPublishError(error, queue) };
      return messages.map(() => outcome);
    }
  }

  /** Begins the time of a whole publish, preparation included. */
  #begin({ timeoutMs = DEFAULT_TIMEOUT_MS, signal }: SendOptions): PublishWait {
    this.#connection.refuseClosed();
    const wait = new PublishWait(this.#clock, this.#deadlines, timeoutMs, signal);
    this.#underWay.add(wait);
    return wait;
  }

  #end(wait: PublishWait): void {
    this.#underWay.delete(wait);
    wait.end();
  }
}

function asPublishError(error: unknown, queue: string): Error {
  if (isA(error, BabelQueueError)) return error;
  const { message } = asError(error);
  return new BabelQueueError("publish_failed", `Cannot publish to '${queue}': ${message}`, {
    cause: error,
  });
}

/** A copy of its own, of a subclass too whose `slice` shares the memory. */
function copied(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

function throwUnlessConfirmed(outcome: PublishOutcome, queue: string): void {
  if (outcome.status === "confirmed") return;
  const { status, error } = outcome;
  if (status === "failed") throw asPublishError(error, queue);
  if (isA(error, PublishUncertainError)) throw error;
  throw new PublishUncertainError(`Cannot confirm a publish to '${queue}': ${error.message}`, {
    cause: error,
  });
}

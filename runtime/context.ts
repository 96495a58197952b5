/**
 * What a handler and a middleware get.
 *
 * @module
 */

import type { Envelope, JsonObject } from "../core/envelope.ts";
import { bypassExternalEffects, isReplay } from "../core/headers.ts";
import type { MessageDefinition } from "./message.ts";
import type { PublishOptions } from "./publish_options.ts";

/** Everything a handler knows about its message beside the data. */
export interface HandlerContext {
  /** URN it was routed on. */
  readonly urn: string;
  /** Queue it was received from. */
  readonly queue: string;
  /** `meta.id`, what an idempotent handler deduplicates on; empty when the message has none. */
  readonly messageId: string;
  /** Id of the causal chain; a fresh one when the message has none. */
  readonly traceId: string;
  /** Which delivery this is, from 1; the same on every broker. Contract: G41a. */
  readonly attempt: number;
  /** The envelope as it was read; its `attempts` is the number in the bytes. */
  readonly envelope: Envelope;
  /** Foreign headers, frozen and without a prototype. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the message is a replay. Contract: C199. */
  readonly replay: boolean;
  /** Aborted when the lease is lost, on the handler's time-out and at the shutdown deadline; not on the first request to stop. */
  readonly signal: AbortSignal;
  /**
   * Publishes a message that continues this one's trace. Headers do not travel on by themselves.
   *
   * @returns `meta.id` of the new message.
   */
  publish<Input = object>(
    message: string | MessageDefinition<Input, unknown>,
    data: NoInfer<Input>,
    options?: PublishOptions,
  ): Promise<string>;
  /**
   * Runs an effect on the outside world, unless the message is a replay.
   *
   * @returns What `run` gives, or undefined when it was skipped. Contract: C200.
   */
  effect<T>(run: () => T | Promise<T>): Promise<T | undefined>;
}

/** Handles one message. Returning acknowledges it, throwing takes the failure route. */
export type Handler<Data = JsonObject> = (data: Data, ctx: HandlerContext) => unknown;

/** Wraps every handler and the schema before it; `next` runs the rest, ends when the handler does and rejects with what it threw. */
export type Middleware = (ctx: HandlerContext, next: () => Promise<void>) => unknown;

/** What a {@linkcode MessageContext} is made from. */
export interface ContextParts {
  readonly urn: string;
  readonly queue: string;
  readonly messageId: string;
  readonly traceId: string;
  readonly attempt: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Reads the envelope; called once, on first use. */
  readonly readEnvelope: () => Envelope;
  /** Gives the signal; called on first use, since most handlers never look. */
  readonly signal: () => AbortSignal;
  /** The App's publish. */
  readonly publish: (
    message: string | MessageDefinition<unknown, unknown>,
    data: unknown,
    options: PublishOptions,
  ) => Promise<string>;
}

/** The {@linkcode HandlerContext} of one delivery. */
export class MessageContext implements HandlerContext {
  readonly #parts: ContextParts;
  #envelope: Envelope | undefined;

  constructor(parts: ContextParts) {
    this.#parts = parts;
  }

  get urn(): string {
    return this.#parts.urn;
  }
  get queue(): string {
    return this.#parts.queue;
  }
  get messageId(): string {
    return this.#parts.messageId;
  }
  get traceId(): string {
    return this.#parts.traceId;
  }
  get attempt(): number {
    return this.#parts.attempt;
  }
  get headers(): Readonly<Record<string, string>> {
    // A retry takes the same headers along, so no handler may change them. Contract: C313.
    return Object.freeze(this.#parts.headers);
  }
  get replay(): boolean {
    return isReplay(this.#parts.headers);
  }
  get signal(): AbortSignal {
    return this.#parts.signal();
  }
  get envelope(): Envelope {
    return this.#envelope ??= this.#parts.readEnvelope();
  }

  // Both may be taken off the context by destructuring.
  readonly publish: HandlerContext["publish"] = (message, data, options = {}) =>
    this.#parts.publish(message as MessageDefinition<unknown, unknown>, data, {
      ...options,
      traceId: options.traceId ?? this.#parts.traceId,
    });

  readonly effect: HandlerContext["effect"] = (run) =>
    bypassExternalEffects(this.#parts.headers, run);
}

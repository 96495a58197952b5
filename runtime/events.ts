/**
 * What the library tells about itself: one typed union, one hub.
 *
 * @module
 */

import { attempt } from "../core/thrown.ts";
import type { DeadLetterReason } from "./transport.ts";

/** The message that an event is about. Empty strings where the body does not say. */
export interface EventSubject {
  /** Queue it was received from. */
  readonly queue: string;
  /** URN it was routed on. */
  readonly urn: string;
  /** `meta.id`. */
  readonly messageId: string;
  /** Which delivery this is, from 1. */
  readonly attempt: number;
}

/** Why a message was acknowledged without having been handled. */
export type DropReason = DeadLetterReason;

/** Everything the library reports. `level` says how bad it is: `info`, `warn` (someone should look) or `error`. */
export type BabelQueueEvent =
  & { readonly level: "info" | "warn" | "error" }
  & (
    /** The worker of some queues started or stopped. */
    | { readonly type: "started" | "stopped"; readonly queues: readonly string[] }
    /** The transport's connection. */
    | { readonly type: "connected" }
    | { readonly type: "disconnected"; readonly error?: Error }
    /** A handler returned; the message is acknowledged next. */
    | ({ readonly type: "handled"; readonly durationMs: number } & EventSubject)
    /** A handler threw, or ran past its time-out; what follows is another event. */
    | (
      & { readonly type: "failed"; readonly error: unknown; readonly durationMs: number }
      & EventSubject
    )
    /** No handler for the URN; what follows is another event. */
    | ({ readonly type: "unknownUrn" } & EventSubject)
    /** The body cannot be handled by anyone. */
    | ({ readonly type: "poison"; readonly cause: string } & EventSubject)
    /** The native schema version is not supported; the body was not read. `version` is cut at 64 characters; `route`, made of it, is the reserved name of such messages and never on the wire. Contract: C79. */
    | (
      & { readonly type: "gated"; readonly version: string; readonly route: string }
      & EventSubject
    )
    /** The message is delivered again. */
    | ({ readonly type: "retried"; readonly delayMs: number } & EventSubject)
    /** The message was given to another consumer. */
    | ({ readonly type: "released"; readonly delayMs: number } & EventSubject)
    /** The message went back unchanged. */
    | ({
      readonly type: "returned";
      readonly cause: "shutdown" | "write_failed" | "retry_impossible";
    } & EventSubject)
    /** The message was left to the broker. */
    | ({ readonly type: "left" } & EventSubject)
    /** The message is on a dead-letter queue. */
    | ({
      readonly type: "deadLettered";
      readonly reason: DeadLetterReason | "native";
      readonly deadLetterQueue: string;
    } & EventSubject)
    /** The message was acknowledged without having been handled: it is gone. */
    | ({ readonly type: "dropped"; readonly reason: DropReason } & EventSubject)
    /** The lease ended before the message was settled: it will be delivered again. */
    | ({ readonly type: "leaseLost"; readonly error?: Error } & EventSubject)
    /** The transport says that the delivery was lost or settled before: nothing was touched. */
    | ({ readonly type: "expired" } & EventSubject)
    /** A write that had to come first failed; the message is unsettled and comes again. */
    | ({ readonly type: "writeFailed"; readonly error: Error } & EventSubject)
    /** The settle itself failed; the message may come again. */
    | ({ readonly type: "settleFailed"; readonly error: Error } & EventSubject)
    /** A handler ended after its message had been settled without it. */
    | ({ readonly type: "lateResult" } & EventSubject)
    /** A receive or a subscribe failed; the worker backs off for `backOffMs`. */
    | {
      readonly type: "receiveFailed";
      readonly queue: string;
      readonly error: Error;
      readonly backOffMs: number;
    }
    /** The shutdown deadline passed with handlers or settles unfinished. */
    | { readonly type: "shutdownTimedOut"; readonly unfinished: number }
    /** Something deserves attention; `code` says what. */
    | {
      readonly type: "warning";
      readonly code: WarningCode;
      readonly message: string;
      readonly subject?: EventSubject;
    }
  );

/** What a `warning` event is about. */
export type WarningCode =
  | "dead_letter_not_set"
  | "no_handlers"
  | "retry_impossible"
  | "forbidden_key"
  | "urn_alias"
  | "job_ignored"
  | "incomplete_envelope"
  | "inexact_integers"
  | "route_mismatch"
  | "delay_cut"
  | "hold_limit"
  | "header_dropped"
  | "transport";

/** Hands events to the callback and to every open iterator, or to `console.warn` when there is neither. */
export class EventHub {
  readonly #callback: ((event: BabelQueueEvent) => void) | undefined;
  readonly #readers: Set<EventReader> = new Set();
  #lost = 0;
  #closed = false;

  /** @param callback Called with every event; what it throws is ignored. */
  constructor(callback?: (event: BabelQueueEvent) => void) {
    this.#callback = callback;
  }

  /** Whether anybody listens. */
  get listening(): boolean {
    return this.#callback !== undefined || this.#readers.size > 0;
  }

  /** @param event What happened. */
  emit(event: BabelQueueEvent): void {
    if (!this.listening) {
      if (event.level !== "info") print(event);
      return;
    }
    for (const reader of this.#readers) reader.push(event);
    try {
      const result: unknown = this.#callback?.(event);
      // An async function is a callback too, and nobody else would see it reject.
      if (result instanceof Promise) result.catch((error) => this.#broken(error));
    } catch (error) {
      this.#broken(error);
    }
  }

  /** @returns An iterator over the events from now on; it ends on `close`, and at once after it. */
  read(): AsyncIterableIterator<BabelQueueEvent> {
    const reader: EventReader = new EventReader(() => this.#readers.delete(reader));
    if (this.#closed) reader.end();
    else this.#readers.add(reader);
    return reader;
  }

  /** Ends every iterator. */
  close(): void {
    this.#closed = true;
    for (const reader of [...this.#readers]) reader.end();
  }

  /** A broken listener must not stop the worker; it is told once, not once a message. */
  #broken(error: unknown): void {
    if (this.#lost++ === 0) console.warn("BabelQueue: the onEvent callback threw", error);
  }
}

/** To the console; what a handler threw comes with its stack. */
function print(event: BabelQueueEvent): void {
  const line = describeEvent(event);
  const stack = event.type === "failed" ? stackOf(event.error) : undefined;
  console.warn(stack === undefined ? line : `${line}\n${stack}`);
}

function stackOf(error: unknown): string | undefined {
  const stack = attempt(() => (error as { stack?: unknown }).stack);
  return typeof stack === "string" && stack !== "" ? stack : undefined;
}

/** Most events an iterator keeps for a reader that does not read; then the oldest go. */
const LARGEST_BACKLOG = 10_000;

class EventReader implements AsyncIterableIterator<BabelQueueEvent> {
  readonly #events: BabelQueueEvent[] = [];
  readonly #onEnd: () => void;
  #waiting: ((result: IteratorResult<BabelQueueEvent>) => void)[] = [];
  #ended = false;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  push(event: BabelQueueEvent): void {
    const waiting = this.#waiting.shift();
    if (waiting) return waiting({ done: false, value: event });
    this.#events.push(event);
    if (this.#events.length > LARGEST_BACKLOG) this.#events.shift();
  }

  end(): void {
    this.#ended = true;
    this.#onEnd();
    for (const waiting of this.#waiting.splice(0)) waiting({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<BabelQueueEvent>> {
    const event = this.#events.shift();
    if (event) return Promise.resolve({ done: false, value: event });
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<BabelQueueEvent>> {
    this.#events.length = 0;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/**
 * One line for a log.
 *
 * @param event What happened.
 * @returns The line.
 */
export function describeEvent(event: BabelQueueEvent): string {
  const { level: _level, type, ...rest } = event;
  const words = Object.entries(rest)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${describeValue(value)}`);
  return `BabelQueue ${type}${words.length > 0 ? ": " : ""}${words.join(" ")}`;
}

function describeValue(value: unknown): string {
  try {
    if (value instanceof Error) return `${String(value.name)}: ${String(value.message)}`;
    if (typeof value === "string") return value;
    return JSON.stringify(value) ?? String(value);
  } catch {
    return "unprintable";
  }
}

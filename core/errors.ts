/**
 * Every error this library raises, in one place. Callers branch on `code` or, where that helps, on
 * the class; `cause` holds what a client or a handler threw.
 *
 * @module
 */

/** What kind of failure a {@linkcode BabelQueueError} stands for. */
export type ErrorCode =
  | "invalid_option"
  | "invalid_envelope"
  | "invalid_data"
  | "envelope_key"
  | "invalid_payload"
  | "unknown_urn"
  | "duplicate_handler"
  | "unsupported"
  | "publish_failed"
  | "publish_uncertain"
  | "settle_write_failed"
  | "non_retriable"
  | "retry_after"
  | "handler_timeout"
  | "lease_lost"
  | "shutdown"
  | "connection"
  | "closed";

/**
 * Base of every error raised by this library.
 *
 * The message says what could not be done, to what, which limit was met and which value met it.
 *
 * @example Branch on the code
 * ```ts
 * import { BabelQueueError, EnvelopeCodec } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * try {
 *   EnvelopeCodec.make(" ", {});
 * } catch (error) {
 *   assert(error instanceof BabelQueueError);
 *   assert.equal(error.code, "invalid_envelope");
 * }
 * ```
 */
export class BabelQueueError extends Error {
  /** What kind of failure this is. */
  readonly code: ErrorCode;

  /**
   * Makes an error.
   *
   * @param code What kind of failure this is.
   * @param message What could not be done, to what, which limit, which value.
   * @param options `cause`: the error behind this one.
   */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BabelQueueError";
    this.code = code;
  }
}

/** An envelope holds a member that may never be written: a forbidden key, the alias `urn`, or an extension named like a core member. Contract: C20, C21, C52. */
export class EnvelopeKeyError extends BabelQueueError {
  /** RFC 6901 pointer to the offending member, for instance `/meta/ts`. */
  readonly pointer: string;

  /**
   * Makes the error.
   *
   * @param pointer RFC 6901 pointer to the offending member.
   * @param message What could not be written.
   */
  constructor(pointer: string, message: string) {
    super("envelope_key", message);
    this.name = "EnvelopeKeyError";
    this.pointer = pointer;
  }
}

/** A message's `data` does not satisfy the schema of its URN. */
export class InvalidPayloadError extends BabelQueueError {
  /** The URN whose schema was violated. */
  readonly urn: string;
  /** The first violation, as `<path>: <reason>`. */
  readonly violation: string;

  /**
   * Makes the error.
   *
   * @param urn The URN whose schema was violated.
   * @param violation The first violation, as `<path>: <reason>`.
   * @param message The whole message; by default made from the other two.
   */
  constructor(urn: string, violation: string, message?: string) {
    super("invalid_payload", message ?? `Cannot accept data of '${urn}': ${violation}`);
    this.name = "InvalidPayloadError";
    this.urn = urn;
    this.violation = violation;
  }
}

/** No handler is registered for the URN of a message. */
export class UnknownUrnError extends BabelQueueError {
  /** The URN without a handler. */
  readonly urn: string;

  /**
   * Makes the error.
   *
   * @param urn The URN without a handler.
   * @param queue The queue that the message was received from.
   */
  constructor(urn: string, queue: string) {
    super("unknown_urn", `Cannot handle a message from '${queue}': no handler for '${urn}'`);
    this.name = "UnknownUrnError";
    this.urn = urn;
  }
}

/** Thrown by a handler whose message must not be tried again: it goes to the dead-letter queue (or is dropped) at once. */
export class NonRetriableError extends BabelQueueError {
  /**
   * Makes the error.
   *
   * @param message Why another attempt cannot succeed.
   * @param options `cause`: the error behind this one.
   */
  constructor(message: string, options?: ErrorOptions) {
    super("non_retriable", message, options);
    this.name = "NonRetriableError";
  }
}

/** Thrown by a handler that knows when its message should be tried again. */
export class RetryAfterError extends BabelQueueError {
  /** The wait before the next attempt, in milliseconds. */
  readonly delayMs: number;

  /**
   * Makes the error.
   *
   * @param delayMs The wait before the next attempt, in milliseconds, 0 or more.
   * @param message Why this attempt failed.
   * @param options `cause`: the error behind this one.
   * @throws {BabelQueueError} `invalid_option` when `delayMs` is no number, negative or not finite.
   */
  constructor(delayMs: number, message: string = "retry later", options?: ErrorOptions) {
    super("retry_after", message, options);
    this.name = "RetryAfterError";
    if (typeof delayMs !== "number" || !(delayMs >= 0 && delayMs < Infinity)) {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot retry after ${String(delayMs)} ms: the delay must be a finite number of at least 0`,
      );
    }
    this.delayMs = delayMs;
  }
}

/** The broker may or may not have stored the message: it was sent, and the connection ended or the deadline passed before the confirmation. Publishing again can duplicate it. */
export class PublishUncertainError extends BabelQueueError {
  /**
   * Makes the error.
   *
   * @param message What was being published where, and what ended the wait.
   * @param options `cause`: the error behind this one.
   */
  constructor(message: string, options?: ErrorOptions) {
    super("publish_uncertain", message, options);
    this.name = "PublishUncertainError";
  }
}

/** What became of one message of a failed `publishMany`. `uncertain` means sent, but not confirmed. */
export type PublishResult =
  | { readonly status: "confirmed"; readonly id: string }
  | { readonly status: "failed" | "uncertain"; readonly id: string; readonly error: Error };

/** Some messages of a `publishMany` were not confirmed; `results` says which, in the order given. */
export class PublishManyError extends BabelQueueError {
  /** One result a message, in the order given. */
  readonly results: readonly PublishResult[];

  /**
   * Makes the error.
   *
   * @param results One result a message, in the order given.
   */
  constructor(results: readonly PublishResult[]) {
    const open = results.filter((result) => result.status !== "confirmed");
    const first = open[0];
    super(
      "publish_failed",
      `Cannot publish ${open.length} of ${results.length} messages; the first error: ${
        first && "error" in first ? first.error.message : "none"
      }`,
      first && "error" in first ? { cause: first.error } : undefined,
    );
    this.name = "PublishManyError";
    this.results = results;
  }
}

/** Raised by a transport: a write that must precede the acknowledgement failed, and the delivery is still unsettled. */
export class SettleWriteError extends BabelQueueError {
  /**
   * Makes the error.
   *
   * @param message What could not be written where.
   * @param options `cause`: the error behind this one.
   */
  constructor(message: string, options?: ErrorOptions) {
    super("settle_write_failed", message, options);
    this.name = "SettleWriteError";
  }
}

/** Raised by a transport that cannot reach or use its broker. `fatal` means that trying again cannot help, for instance wrong credentials. */
export class ConnectionError extends BabelQueueError {
  /** Whether trying again cannot help. */
  readonly fatal: boolean;

  /**
   * Makes the error.
   *
   * @param message What could not be reached or used, and why.
   * @param options `fatal` (default false) and `cause`.
   */
  constructor(message: string, options?: ErrorOptions & { readonly fatal?: boolean }) {
    super("connection", message, options);
    this.name = "ConnectionError";
    this.fatal = options?.fatal ?? false;
  }
}

/** A handler ran past its time-out; its message took the failure route and its late result is ignored. */
export class HandlerTimeoutError extends BabelQueueError {
  /**
   * Makes the error.
   *
   * @param urn The URN of the message.
   * @param timeoutMs The time-out that passed, in milliseconds.
   */
  constructor(urn: string, timeoutMs: number) {
    super("handler_timeout", `Cannot finish the handler of '${urn}': it ran past ${timeoutMs} ms`);
    this.name = "HandlerTimeoutError";
  }
}

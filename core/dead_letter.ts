/**
 * The `dead_letter` block of a record on a dead-letter queue. Contract: C101–C108.
 *
 * @module
 */

import { saturate } from "./attempts.ts";
import { systemClock } from "./clock.ts";
import { BabelQueueError } from "./errors.ts";
import { isObject } from "./_fold.ts";
import { messageOf, typeNameOf } from "./thrown.ts";
import { SOURCE_LANG } from "./_contract.ts";
import type { DeadLetter, IncomingEnvelope } from "./envelope.ts";

/** What a {@linkcode deadLetterBlock} is made of. */
export interface DeadLetterOptions {
  /** `failed`, `unknown_urn` or `poison`. */
  readonly reason: string;
  /** Whatever was thrown; null when nothing was. */
  readonly error: unknown;
  /** Queue that the message belonged to. */
  readonly originalQueue: string;
  /** Deliveries so far. */
  readonly attempts: number;
  /** Now, in Unix milliseconds. */
  readonly failedAtMs: number;
}

/** What {@linkcode annotate} writes beside the reason and the queue. */
export interface AnnotateOptions {
  /**
   * Deliveries so far.
   *
   * @default {the envelope's own `attempts`, else 0}
   */
  readonly attempts?: number;
  /**
   * Message of the last error.
   *
   * @default {null}
   */
  readonly error?: string | null;
  /**
   * Type name of the last error.
   *
   * @default {null}
   */
  readonly exception?: string | null;
  /**
   * When the message was dead-lettered, in Unix milliseconds.
   *
   * @default {now}
   */
  readonly failedAtMs?: number;
}

/**
 * Adds a `dead_letter` block to a copy of an envelope, as its last member; an existing block is
 * replaced. Nothing else changes, the top-level `attempts` included. Contract: C105–C107.
 *
 * @param envelope The envelope; it stays as it is.
 * @param reason `failed`, `unknown_urn` or `poison`.
 * @param originalQueue Queue that the message belonged to.
 * @param options The rest of the block.
 * @returns The copy.
 * @throws {BabelQueueError} `invalid_envelope` when the envelope is no object.
 *
 * @example Annotate an exhausted message
 * ```ts
 * import { annotate, EnvelopeCodec } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const envelope = EnvelopeCodec.make("urn:babel:orders:created", { id: 7 });
 * const record = annotate(envelope, "failed", "orders", { attempts: 3, error: "no stock" });
 * assert.equal(record.dead_letter.attempts, 3);
 * assert.equal(record.dead_letter.original_queue, "orders");
 * ```
 */
export function annotate<E extends IncomingEnvelope>(
  envelope: E,
  reason: string,
  originalQueue: string,
  options: AnnotateOptions = {},
): Omit<E, "dead_letter"> & { readonly dead_letter: DeadLetter } {
  if (!isObject(envelope)) {
    throw new BabelQueueError("invalid_envelope", "Cannot annotate an envelope: it is no object");
  }
  const { dead_letter: _, ...rest } = envelope;
  const own = envelope["attempts"];
  const dead_letter = block({
    reason,
    error: textOrNull(options.error),
    exception: textOrNull(options.exception),
    originalQueue,
    attempts: options.attempts ?? (typeof own === "number" ? own : 0),
    failedAtMs: options.failedAtMs ?? systemClock.now(),
  });
  return { ...rest, dead_letter } as Omit<E, "dead_letter"> & {
    readonly dead_letter: DeadLetter;
  };
}

/**
 * Makes the block of a message that failed. Whatever was thrown is described and nothing makes this
 * throw; unpaired surrogates become U+FFFD, so that the block is UTF-8. Contract: C101, C102, C108.
 *
 * @param options What happened to the message.
 * @returns The block; `error` and `exception` are null only for an `error` of null.
 */
export function deadLetterBlock(options: DeadLetterOptions): DeadLetter {
  const { error } = options;
  return block({
    ...options,
    error: error === null ? null : messageOf(error),
    exception: error === null ? null : typeNameOf(error),
  });
}

/** A text as it is, and what else was given described: a caught error may be passed on as it came. */
function textOrNull(given: unknown): string | null {
  return given === undefined || given === null ? null : messageOf(given);
}

/** What every block is made from. */
interface Block extends Omit<DeadLetterOptions, "error"> {
  readonly error: string | null;
  readonly exception: string | null;
}

/** The block, members in the order of the wire; unpaired surrogates become U+FFFD. Contract: C101. */
export function block(of: Block): DeadLetter {
  return {
    reason: of.reason,
    error: of.error?.toWellFormed() ?? null,
    exception: of.exception?.toWellFormed() ?? null,
    failed_at: of.failedAtMs,
    original_queue: of.originalQueue.toWellFormed(),
    attempts: saturate(of.attempts),
    lang: SOURCE_LANG,
  };
}

/**
 * Re-emits a body by editing its text: what the contract lets change is changed, every other byte
 * stays as it came. Contract: C55–C63.
 *
 * @module
 */

import { saturate } from "./attempts.ts";
import { editText } from "./_edit.ts";
import { BabelQueueError } from "./errors.ts";
import { isObject } from "./_fold.ts";
import type { DeadLetter, IncomingEnvelope } from "./envelope.ts";
import { decodeUtf8, encodeUtf8, textOf } from "./_text.ts";

/** What changes on a re-emit. */
export interface Edit {
  /**
   * The new count of deliveries; without it the count stays.
   *
   * @default {undefined}
   */
  readonly attempts?: number;
  /**
   * The new `dead_letter` block; null removes one, and without it one that is there stays.
   *
   * @default {undefined}
   */
  readonly deadLetter?: DeadLetter | null;
  /**
   * What `canonical` of this body's verdict says. True spares a second look at `data`; it is a
   * promise, and a wrong one leaves forbidden members where they are.
   *
   * @default {false}
   */
  readonly canonical?: boolean;
}

/**
 * Re-emits a body with some members changed. The alias `urn` is folded into `job` and forbidden
 * members are dropped; where a member is repeated, its last occurrence is edited. White space around
 * the object goes. Contract: C56, C60, C61, C65.
 *
 * @param body The body.
 * @param edit What changes.
 * @returns The new body.
 * @throws {BabelQueueError} `invalid_envelope` when the body is not one JSON object.
 *
 * @example Count a delivery
 * ```ts
 * import { reemit } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const body = new TextEncoder().encode('{"job":"u","data":{"n":1.0},"attempts":0}');
 * const retry = new TextDecoder().decode(reemit(body, { attempts: 1 }));
 * assert.equal(retry, '{"job":"u","data":{"n":1.0},"attempts":1}');
 * ```
 */
export function reemit(body: Uint8Array, edit: Edit): Uint8Array<ArrayBuffer> {
  const start = edit.canonical === true ? countStart(body) : 0;
  if (start > 0) return withTail(body, start, edit);
  return encodeUtf8(editText(textOf(body), edit));
}

/**
 * Re-emits a body that is a text; otherwise as {@linkcode reemit}.
 *
 * @param body The body.
 * @param edit What changes.
 * @returns The new body.
 * @throws {BabelQueueError} `invalid_envelope` when the body is not one JSON object.
 */
export function reemitText(body: string, edit: Edit): string {
  const start = edit.canonical === true ? countStartOfText(body) : 0;
  if (start === 0) return editText(textOf(body), edit);
  return body.slice(0, start) + tailOf(edit, () => body.slice(start, -1));
}

/**
 * Resets a dead-letter record, so that its message can be published again: no `dead_letter`, and
 * `attempts` 0. Bytes and text are edited in place, an object is copied. Contract: C186, C189, C190.
 *
 * @param record The record.
 * @returns The reset message, of the same kind.
 * @throws {BabelQueueError} `invalid_envelope` when it is not one JSON object.
 *
 * @example Reset a record
 * ```ts
 * import { resetForRedrive } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const record = '{"job":"u","attempts":3,"dead_letter":{"reason":"failed"}}';
 * assert.equal(resetForRedrive(record), '{"job":"u","attempts":0}');
 * ```
 */
export function resetForRedrive(record: Uint8Array): Uint8Array<ArrayBuffer>;
/** Resets a dead-letter record that is a text. */
export function resetForRedrive(record: string): string;
/** Resets a dead-letter record that is an envelope. */
export function resetForRedrive<E extends IncomingEnvelope>(record: E): Omit<E, "dead_letter">;
export function resetForRedrive(
  record: Uint8Array | string | IncomingEnvelope,
): Uint8Array | string | IncomingEnvelope {
  const edit: Edit = { attempts: 0, deadLetter: null };
  if (typeof record === "string") return reemitText(record, edit);
  if (record instanceof Uint8Array) return reemit(record, edit);
  if (!isObject(record)) {
    throw new BabelQueueError("invalid_envelope", "Cannot reset a record: it is no object");
  }
  const { dead_letter: _, ...rest } = record;
  return { ...rest, attempts: 0 };
}

const COUNT_MARK = '},"attempts":';
const MINUS = 0x2d;
const CLOSE_OBJECT = 0x7d;

/** Where the digits of `attempts` begin in a canonical body, or 0. */
function countStart(body: Uint8Array): number {
  let start = body.length - 1;
  if (body[start] !== CLOSE_OBJECT) return 0;
  while (isCount(body[start - 1])) start--;
  const mark = start - COUNT_MARK.length;
  for (let at = COUNT_MARK.length - 1; at >= 0; at--) {
    if (body[mark + at] !== COUNT_MARK.charCodeAt(at)) return 0;
  }
  return start;
}

function countStartOfText(body: string): number {
  let start = body.length - 1;
  if (body.charCodeAt(start) !== CLOSE_OBJECT) return 0;
  while (isCount(body.charCodeAt(start - 1))) start--;
  return body.startsWith(COUNT_MARK, start - COUNT_MARK.length) ? start : 0;
}

function isCount(code: number | undefined): boolean {
  return code !== undefined && (code === MINUS || (code >= 0x30 && code <= 0x39));
}

/** The body up to `start`, and an edited tail. */
function withTail(body: Uint8Array, start: number, edit: Edit): Uint8Array<ArrayBuffer> {
  const tail = tailOf(edit, () => decodeUtf8(body.subarray(start, -1)) ?? "");
  if (edit.deadLetter) {
    const bytes = encodeUtf8(tail);
    const copy = new Uint8Array(start + bytes.length);
    copy.set(body.subarray(0, start));
    copy.set(bytes, start);
    return copy;
  }
  // Digits and a brace; a copy of the whole body is the fastest there is.
  const length = start + tail.length;
  const copy = length === body.length ? new Uint8Array(body) : new Uint8Array(length);
  if (length !== body.length) copy.set(body.subarray(0, start));
  for (let at = 0; at < tail.length; at++) copy[start + at] = tail.charCodeAt(at);
  return copy;
}

/** What follows the mark after an edit. */
function tailOf({ attempts, deadLetter }: Edit, old: () => string): string {
  const count = attempts === undefined ? old() : String(saturate(attempts));
  return deadLetter ? `${count},"dead_letter":${JSON.stringify(deadLetter)}}` : `${count}}`;
}

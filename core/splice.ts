/**
 * Re-emits a body by editing its text: what the contract lets change is changed, every other byte
 * stays as it came. Contract: C55–C63.
 *
 * @module
 */

import { saturate } from "./attempts.ts";
import { editText } from "./_edit.ts";
import type { DeadLetter, IncomingEnvelope } from "./envelope.ts";
import { BabelQueueError } from "./errors.ts";
import { decodeUtf8, encodeUtf8 } from "./_text.ts";

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
  if (edit.canonical === true) {
    const end = endOfFrame(body.length, (at) => body[at]);
    if (end > 0) {
      const tail = encodeUtf8(frameTail(edit, () => decodeUtf8(body.subarray(end)) ?? ""));
      const copy = new Uint8Array(end + tail.length);
      copy.set(body.subarray(0, end));
      copy.set(tail, end);
      return copy;
    }
  }
  const text = decodeUtf8(body);
  if (text === null) {
    throw new BabelQueueError(
      "invalid_envelope",
      "Cannot re-emit a body: the body is not valid UTF-8",
    );
  }
  return encodeUtf8(editText(text, edit));
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
  if (edit.canonical === true) {
    const end = endOfFrame(body.length, (at) => body.charCodeAt(at));
    if (end > 0) return body.slice(0, end) + frameTail(edit, () => body.slice(end));
  }
  return editText(body, edit);
}

/**
 * Resets a dead-letter record, so that its message can be published again: no `dead_letter`, and
 * `attempts` 0. Bytes and text are edited in place, an object is copied. Contract: C186, C189, C190.
 *
 * @param record The record.
 * @returns The reset message, of the same kind.
 * @throws {BabelQueueError} `invalid_envelope` when bytes or text are not one JSON object.
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
  const { dead_letter: _, ...rest } = record as IncomingEnvelope;
  return { ...rest, attempts: 0 };
}

const FRAME_END = '},"attempts":';
const MINUS = 0x2d;
const CLOSE_OBJECT = 0x7d;

/** Where the digits of `attempts` begin in a canonical body, or 0. */
function endOfFrame(length: number, codeAt: (at: number) => number | undefined): number {
  if (codeAt(length - 1) !== CLOSE_OBJECT) return 0;
  let start = length - 1;
  for (; start > 0; start--) {
    const code = codeAt(start - 1);
    if (code === undefined || code < 0x30 || code > 0x39) break;
  }
  if (codeAt(start - 1) === MINUS) start--;
  const mark = start - FRAME_END.length;
  for (let at = 0; at < FRAME_END.length; at++) {
    if (codeAt(mark + at) !== FRAME_END.charCodeAt(at)) return 0;
  }
  return start;
}

/** What follows the frame after an edit. */
function frameTail({ attempts, deadLetter }: Edit, rest: () => string): string {
  const count = attempts === undefined ? rest().slice(0, -1) : String(saturate(attempts));
  return deadLetter ? `${count},"dead_letter":${JSON.stringify(deadLetter)}}` : `${count}}`;
}

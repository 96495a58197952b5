/**
 * The record of a body that cannot be handled: the body with a `dead_letter` member spliced in, or a
 * wrapper around it. Contract: C112–C119, G13, G14.
 *
 * @module
 */

import { toBase64 } from "./_base64.ts";
import { block } from "./dead_letter.ts";
import type { DeadLetter } from "./envelope.ts";
import { lastMember, layoutOf } from "./_layout.ts";
import type { ObjectSpan } from "./_scan.ts";
import { decodeUtf8, encodeUtf8 } from "./_text.ts";

/** What a {@linkcode poisonBlock} is made of. */
export interface PoisonOptions {
  /** Why the body cannot be handled, without any part of it. */
  readonly cause: string;
  /** Queue that the message was received from. */
  readonly originalQueue: string;
  /** Earlier deliveries as far as they are known; 0 otherwise. */
  readonly attempts: number;
  /** Now, in Unix milliseconds. */
  readonly failedAtMs: number;
}

/**
 * Makes the `dead_letter` block of a poison record. Contract: C119.
 *
 * @param options What happened to the message.
 * @returns The block.
 */
export function poisonBlock(options: PoisonOptions): DeadLetter {
  return block({
    reason: "poison",
    error: `Undecodable BabelQueue body: ${options.cause}`,
    exception: "BabelQueueError",
    ...options,
  });
}

/**
 * Makes the poison record of a body. One strict JSON object without a `dead_letter` keeps every byte
 * and gains the block; any other text goes into `raw`, and bytes that are no text go there as base64.
 *
 * @param body The body, byte for byte.
 * @param block The block, from {@linkcode poisonBlock}.
 * @returns The record.
 *
 * @example Make the record of a body that is no JSON
 * ```ts
 * import { poisonBlock, poisonRecord } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const cause = "the body is no JSON object";
 * const block = poisonBlock({ cause, originalQueue: "orders", attempts: 0, failedAtMs: 0 });
 * const record = poisonRecord(new TextEncoder().encode("not json"), block);
 * assert.equal(JSON.parse(new TextDecoder().decode(record)).raw, "not json");
 * ```
 */
export function poisonRecord(body: Uint8Array, block: DeadLetter): Uint8Array<ArrayBuffer> {
  const member = `"dead_letter":${JSON.stringify(block)}}`;
  const text = decodeUtf8(body);
  if (text === null) {
    return join(
      encodeUtf8('{"raw":"'),
      toBase64(body),
      encodeUtf8(`","raw_encoding":"base64",${member}`),
    );
  }
  const root = spliceable(text);
  if (root === null) return encodeUtf8(`{"raw":${JSON.stringify(text)},${member}`);
  if (root.count === 0) return encodeUtf8(`{${member}`);
  // Only ASCII stands outside the braces, so both ends are found in the bytes too.
  const end = body.length - (text.length - root.end) - 1;
  return join(body.subarray(root.start, end), encodeUtf8(`,${member}`));
}

/** The object that a record may be made of by a splice, or null. Contract: C112, C116. */
function spliceable(text: string): ObjectSpan | null {
  const root = layoutOf(text);
  if (typeof root === "string" || lastMember(root, "dead_letter") !== undefined) return null;
  if (hasUnpairedEscape(text)) return null;
  try {
    JSON.parse(text);
    return root;
  } catch {
    return null;
  }
}

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
const HIGH = /^\\u[dD][89abAB]/;
const LOW = /^\\u[dD][c-fC-F]/;

/** Whether an escape in a JSON text stands for half a surrogate pair. */
function hasUnpairedEscape(text: string): boolean {
  if (!SURROGATE_ESCAPE.test(text)) return false;
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at)) {
    const escape = text.slice(at, at + 12);
    if (HIGH.test(escape)) {
      if (!LOW.test(escape.slice(6))) return true;
      at += 12;
    } else if (LOW.test(escape)) {
      return true;
    } else {
      at += 2;
    }
  }
  return false;
}

function join(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

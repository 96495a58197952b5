/**
 * The header frame of the legacy layout: headers and body in one list element.
 *
 * @module
 */

import { NO_HEADERS, sanitizeHeaders } from "@bq/core/transport";

/** A list element, taken apart. */
export interface Unframed {
  /** The body, byte for byte. */
  readonly body: Uint8Array;
  /** Headers; empty for a bare body. */
  readonly headers: Readonly<Record<string, string>>;
}

const MARK = new TextEncoder().encode('"__bq_frame"');
const OPEN_BRACE = 0x7b;
const UNDERSCORE = 0x5f;

/**
 * Puts headers and body into one element. Without a usable header, or with a body that is no text,
 * the element is the body itself. Contract: R80.
 *
 * @param body The body.
 * @param headers Foreign headers.
 * @returns The element.
 */
export function frame(
  body: Uint8Array,
  headers: Readonly<Record<string, string>> | undefined,
): Uint8Array {
  const riders = sanitizeHeaders(headers);
  if (Object.keys(riders).length === 0) return body;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return body;
  }
  return new TextEncoder().encode(JSON.stringify({ __bq_frame: 1, headers: riders, body: text }));
}

/**
 * Takes an element apart. Whatever is no frame is a bare body. Contract: R81.
 *
 * @param stored The element.
 * @returns Its body, as a copy, and its headers.
 */
export function unframe(stored: Uint8Array): Unframed {
  return (stored[0] === OPEN_BRACE && holdsMark(stored) ? framed(stored) : null) ??
    { body: new Uint8Array(stored), headers: NO_HEADERS };
}

function framed(stored: Uint8Array): Unframed | null {
  let value: { __bq_frame?: unknown; headers?: unknown; body?: unknown };
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(stored));
  } catch {
    return null;
  }
  const { __bq_frame: mark, headers, body } = value;
  // A text with half a surrogate pair never was a body.
  if (!mark || typeof body !== "string" || !body.isWellFormed()) return null;
  return {
    body: new TextEncoder().encode(body),
    headers: Array.isArray(headers) ? NO_HEADERS : Object.freeze(sanitizeHeaders(headers as null)),
  };
}

/** Hops from underscore to underscore, of which a body has few. */
function holdsMark(bytes: Uint8Array): boolean {
  for (let at = bytes.indexOf(UNDERSCORE); at >= 0; at = bytes.indexOf(UNDERSCORE, at + 1)) {
    let match = at > 0 && bytes[at - 1] === MARK[0];
    for (let i = 1; match && i < MARK.length; i++) match = bytes[at - 1 + i] === MARK[i];
    if (match) return true;
  }
  return false;
}

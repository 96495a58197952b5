/**
 * Judges the numbers inside `data` by their literals: one that is no finite double, and integers that
 * a double cannot hold exactly. Contract: C69, C70.
 *
 * Both are rare, so bodies without any are told apart first, by a test that knows nothing of strings
 * and errs on the side of a second look.
 *
 * @module
 */

import { endOfString } from "./_scan.ts";
import { decodeWindow, encodeUtf8 } from "./_text.ts";

/** What the numbers of a text are. */
export type NumberFinding = "plain" | "inexact" | "nonFinite";

/** An exponent of three digits, without which only a very long number overflows; or a long number. */
const SUSPECT = /[0-9][eE]\+?[0-9]{3}|[0-9]{16}/;

/** Every SUSPECT covers a place that is a multiple of this, and a long number three of them. */
const STRIDE = 5;

/** A longer text is faster looked at as bytes. */
const SHORT = 512;

const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const LOWER_E = 0x65;
const CLOSE_OBJECT = 0x7d;
const TO_LOWER = 0x20;

/**
 * Looks at every number of a JSON text.
 *
 * @param text The text of one value.
 * @returns The worst finding.
 */
export function inspectNumbers(text: string): NumberFinding {
  const odd = text.length < SHORT ? SUSPECT.test(text) : mayHoldOddNumber(encodeUtf8(text));
  return odd ? examine(text) : "plain";
}

/** Whether a body may hold a number that is not plain; false is certain. */
export function mayHoldOddNumber(bytes: Uint8Array): boolean {
  for (let at = STRIDE - 1; at < bytes.length; at += STRIDE) {
    const code = bytes[at] as number;
    if (code > NINE) {
      if ((code | TO_LOWER) !== LOWER_E || !mayFollowExponent(bytes[at + 1])) continue;
    } else if (code >= ZERO) {
      if (!isNearExponent(bytes, at) && !(isDigit(bytes[at + 10]) && isDigit(bytes[at + 5]))) {
        continue;
      }
    } else if (code !== PLUS) continue;
    let end = at + 1;
    while (isOfNumber(bytes[end])) end++;
    let start = at;
    while (isOfNumber(bytes[start - 1])) start--;
    if (mayStandBefore(bytes[start - 1]) && mayStandAfter(bytes[end])) {
      if (classify(decodeWindow(bytes.subarray(start, end))) !== "plain") return true;
    }
    at = end - 1;
  }
  return false;
}

function isNearExponent(bytes: Uint8Array, at: number): boolean {
  return isExponent(bytes[at - 1]) || isExponent(bytes[at + 1]) || isExponent(bytes[at - 2]) ||
    isExponent(bytes[at - 3]);
}

function isExponent(code: number | undefined): boolean {
  return code === LOWER_E || code === LOWER_E - TO_LOWER;
}

function mayFollowExponent(code: number | undefined): boolean {
  return isDigit(code) || code === PLUS;
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= ZERO && code <= NINE;
}

function isOfNumber(code: number | undefined): boolean {
  return isDigit(code) || isExponent(code) || code === MINUS || code === PLUS || code === DOT;
}

function mayStandBefore(code: number | undefined): boolean {
  return code === COLON || code === COMMA || code === OPEN_ARRAY || isSpace(code);
}

function mayStandAfter(code: number | undefined): boolean {
  return code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code);
}

function isSpace(code: number | undefined): boolean {
  return code !== undefined && code <= SPACE;
}

/** Judges one literal. */
function classify(literal: string): NumberFinding {
  const value = Number(literal);
  if (value === Infinity || value === -Infinity) return "nonFinite";
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return "plain";
  return /^-?[0-9]+$/.test(literal) ? "inexact" : "plain";
}

/** Looks at each number, skipping strings. */
function examine(text: string): NumberFinding {
  let finding: NumberFinding = "plain";
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at) - 1;
      if (at < 0) return finding;
    } else if (code === MINUS || isDigit(code)) {
      const start = at;
      while (isOfNumber(text.charCodeAt(at))) at++;
      const found = classify(text.slice(start, at));
      if (found === "nonFinite") return found;
      if (found === "inexact") finding = found;
      at--;
    }
  }
  return finding;
}

/** The third argument of a reviver, as far as it is used. */
interface ReviverContext {
  readonly source?: string;
}

/** Parses a JSON text, integers beyond the safe range as `bigint`. */
export function parseExactly(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: ReviverContext): unknown => {
    if (typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
    const source = context?.source;
    return source !== undefined && /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
  };
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]);
}

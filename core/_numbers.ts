/**
 * Judges the numbers inside `data` by their literals: one that is no finite double, and integers that
 * a double cannot hold exactly. Contract: C69, C70.
 *
 * @module
 */

import { endOfString } from "./_scan.ts";

/** What the numbers of a text are. */
export type NumberFinding = "plain" | "inexact" | "nonFinite";

/** An exponent of three digits or more, without which only a very long number overflows. */
const LONG_EXPONENT = /[0-9][eE]\+?[0-9]{3}/;

/** The digits of the largest safe integer. */
const LARGEST_SAFE = "9007199254740991";
const SAFE_DIGITS = LARGEST_SAFE.length;

/** With exponents below 100, a number of fewer digits than this is finite. */
const FINITE_DIGITS = 200;

const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

/**
 * Looks at every number of a JSON text.
 *
 * @param text The text of one value, valid JSON.
 * @returns The worst finding.
 */
export function inspectNumbers(text: string): NumberFinding {
  return suspicious(text) ? examine(text) : "plain";
}

/**
 * Whether the text may hold a number worth a look; a cheap test that knows nothing of strings and is
 * only sometimes wrong, in that direction.
 */
function suspicious(text: string): boolean {
  return hasLongInteger(text) || LONG_EXPONENT.test(text);
}

/** Whether a run of digits stands where a number may stand, and is too large to be harmless. */
function hasLongInteger(text: string): boolean {
  // A run of that many digits cannot hide between two probes.
  for (let probe = SAFE_DIGITS - 1; probe < text.length; probe += SAFE_DIGITS) {
    if (!isDigit(text.charCodeAt(probe))) continue;
    let start = probe;
    while (start > 0 && isDigit(text.charCodeAt(start - 1))) start--;
    let end = probe + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    if (end - start >= SAFE_DIGITS && isLongInteger(text, start, end)) return true;
    probe = end - 1;
  }
  return false;
}

function isLongInteger(text: string, start: number, end: number): boolean {
  // Letters, quotes, a point before: part of a string, or of a fraction, which no double overflows with.
  const before = text.charCodeAt(start - 1);
  if (before === DOT || before === QUOTE || isLetter(before)) return false;
  if (end - start >= FINITE_DIGITS) return true;
  const after = text.charCodeAt(end);
  if (after === DOT || after === QUOTE || isLetter(after)) return false;
  return end - start > SAFE_DIGITS || text.slice(start, end) > LARGEST_SAFE;
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
      let integer = true;
      for (at++;; at++) {
        const next = text.charCodeAt(at);
        if (isDigit(next)) continue;
        if (next !== DOT && next !== LOWER_E && next !== UPPER_E) {
          if (next !== PLUS && next !== MINUS) break;
        }
        integer = false;
      }
      if (!integer || at - start >= SAFE_DIGITS) {
        const value = Number(text.slice(start, at));
        if (!Number.isFinite(value)) return "nonFinite";
        if (integer && !Number.isSafeInteger(value)) finding = "inexact";
      }
      at--;
    }
  }
  return finding;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

/** The third argument of a reviver, as far as it is used. */
interface ReviverContext {
  readonly source?: string;
}

/** Parses a JSON text, integers beyond the safe range as `bigint`. */
export function parseExactly(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: ReviverContext): unknown => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    const source = context?.source;
    return source !== undefined && /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
  };
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]);
}

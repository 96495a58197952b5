/**
 * Judges the numbers inside `data` by their literals: one that is no finite double, and integers that
 * a double cannot hold exactly. Contract: C69, C70.
 *
 * Both are rare, so texts without any are told apart first, by tests that know nothing of strings and
 * err on the side of a second look.
 *
 * @module
 */

import { endOfString } from "./_scan.ts";

/** The beginning of an exponent of three digits, without which only a very long number overflows; of one length, which the engines search fastest. */
const LONG_EXPONENT = /[0-9][eE][+0-9][0-9][0-9]/g;

/** With exponents below 100, a number of fewer digits than this is finite. */
const FINITE_DIGITS = 200;

/** An integer beyond 2^53 has as many digits, then the first is a nine; or more. */
const SAFE_DIGITS = 16;

const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

/** What is asked about the numbers of a text. */
type Question = (literal: string) => boolean;

const isInfinite: Question = (literal) => Math.abs(Number(literal)) === Infinity;

const isLongInteger: Question = (literal) =>
  Math.abs(Number(literal)) > Number.MAX_SAFE_INTEGER && /^-?[0-9]+$/.test(literal);

/** Whether a JSON text holds a number that is no finite double. */
export function overflows(text: string): boolean {
  return mayOverflow(text) && someNumber(text, isInfinite);
}

/** Whether a JSON text holds an integer beyond 2^53. */
export function holdsLongInteger(text: string): boolean {
  return someNumber(text, isLongInteger);
}

/** Whether a text may hold a number that is no finite double; false is certain. */
function mayOverflow(text: string): boolean {
  LONG_EXPONENT.lastIndex = 0;
  while (LONG_EXPONENT.test(text)) {
    let start = LONG_EXPONENT.lastIndex;
    let end = start;
    while (isOfNumber(text.charCodeAt(start - 1))) start--;
    while (isOfNumber(text.charCodeAt(end))) end++;
    const alone = isBoundary(text.charCodeAt(start - 1)) && isBoundary(text.charCodeAt(end));
    if (alone && isInfinite(text.slice(start, end))) return true;
    LONG_EXPONENT.lastIndex = end;
  }
  // A run of that many digits cannot hide between two probes.
  for (let at = FINITE_DIGITS - 1; at < text.length; at += FINITE_DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (isDigit(text.charCodeAt(start - 1))) start--;
    while (isDigit(text.charCodeAt(at))) at++;
    if (at - start >= FINITE_DIGITS) return true;
  }
  return false;
}

/** Whether a body may hold an integer beyond 2^53; false is certain. */
export function mayHoldLongInteger(body: Uint8Array | string): boolean {
  return typeof body === "string"
    ? hasLongRun(body.length, (at) => body.charCodeAt(at))
    : hasLongRun(body.length, (at) => body[at]);
}

function hasLongRun(length: number, codeAt: (at: number) => number | undefined): boolean {
  const half = SAFE_DIGITS / 2;
  for (let at = SAFE_DIGITS - 1; at < length; at += SAFE_DIGITS) {
    if (!isDigit(codeAt(at))) continue;
    // A run that long reaches half its length to at least one side.
    if (!isDigit(codeAt(at - half)) && !isDigit(codeAt(at + half))) continue;
    let start = at;
    let end = at + 1;
    while (isDigit(codeAt(start - 1))) start--;
    while (isDigit(codeAt(end))) end++;
    if (end - start > SAFE_DIGITS || (end - start === SAFE_DIGITS && codeAt(start) === NINE)) {
      const before = codeAt(start - 1);
      if ((before === MINUS || isBoundary(before)) && isBoundary(codeAt(end))) return true;
    }
    at = end - 1;
  }
  return false;
}

/** Asks about each number of a JSON text, strings skipped, until one says yes. */
function someNumber(text: string, question: Question): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at) - 1;
      if (at < 0) return false;
    } else if (code === MINUS || isDigit(code)) {
      const start = at;
      while (isOfNumber(text.charCodeAt(at))) at++;
      if (question(text.slice(start, at))) return true;
      at--;
    }
  }
  return false;
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= ZERO && code <= NINE;
}

function isOfNumber(code: number): boolean {
  return isDigit(code) || code === LOWER_E || code === UPPER_E || code === DOT ||
    code === MINUS || code === PLUS;
}

/** Whether a number may stand beside this character: white space, or one of `,:[]}`. */
function isBoundary(code: number | undefined): boolean {
  switch (code) {
    case 0x09:
    case 0x0a:
    case 0x0d:
    case 0x20:
    case 0x2c:
    case 0x3a:
    case 0x5b:
    case 0x5d:
    case 0x7d:
      return true;
    default:
      return false;
  }
}

/** The third argument of a reviver, as far as it is used. */
interface ReviverContext {
  readonly source?: string;
}

/** Parses a JSON text, integers beyond 2^53 as `bigint`. */
export function parseExactly(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: ReviverContext): unknown => {
    if (typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
    // Beyond a double it is poison anyway, and a bigint of millions of digits takes its time.
    if (!Number.isFinite(value)) return value;
    const source = context?.source;
    return source !== undefined && /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
  };
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1]);
}

/**
 * What the client does about a member whose attempts were raised by a splice: it puts the job together
 * again, and finds what cjson would have refused.
 */

import type { Delivery } from "@bq/core/transport";
import type { Reserved } from "./_layout.ts";

const decoder: TextDecoder = new TextDecoder();

const ZERO = 0x30;
const NINE = 0x39;

/** A reservation whose member is the body with its attempts raised by one. */
export class SplicedReservation implements Reserved {
  readonly delivery: Delivery;
  readonly endsAtMs: number;
  readonly memberLength: number;

  /**
   * @param delivery Its body ends in `"attempts":N}`, as {@linkcode lowered} gave it.
   * @param endsAtMs When it ends.
   */
  constructor(delivery: Delivery, endsAtMs: number) {
    this.delivery = delivery;
    this.endsAtMs = endsAtMs;
    const { body } = delivery;
    this.memberLength = body.length + (allNines(body) ? 1 : 0);
  }

  writeMember(into: Uint8Array, at: number): void {
    const { body } = this.delivery;
    into.set(body, at);
    let digit = at + body.length - 2;
    if (this.memberLength === body.length) {
      for (; into[digit] === NINE; digit--) into[digit] = ZERO;
      into[digit]!++;
      return;
    }
    // All nines: a one, and as many zeros.
    into[digit + 2] = into[digit + 1]!;
    into[digit + 1] = ZERO;
    for (; into[digit] === NINE; digit--) into[digit] = ZERO;
    into[digit + 1] = ZERO + 1;
  }
}

function allNines(body: Uint8Array): boolean {
  let at = body.length - 2;
  while (body[at] === NINE) at--;
  return !isDigit(body[at]);
}

/**
 * Lowers the attempts at the end of a member by one, in its own bytes where it stays as long as it is.
 *
 * @param member It ends in `"attempts":N}` with N of at least 1. The bytes are not shared with anybody.
 * @returns The job.
 */
export function lowered(member: Uint8Array): Uint8Array {
  let digit = member.length - 2;
  for (; member[digit] === ZERO; digit--) member[digit] = NINE;
  member[digit]!--;
  // What was a power of ten has one digit less.
  const first = member[digit] === ZERO && digit < member.length - 2 && !isDigit(member[digit - 1]);
  if (!first) return member;
  const job = new Uint8Array(member.length - 1);
  job.set(member.subarray(0, digit));
  job.set(member.subarray(digit + 1), digit);
  return job;
}

/**
 * Whether cjson refuses a body that is valid JSON: a number anywhere that is no finite double, or an
 * escape of half a surrogate pair. Such a body is poison in the zset layout. Contract: R33, R35.
 *
 * @param body A body that ends canonically; what is no JSON at all is found by the reader.
 */
export function refusedByCjson(body: Uint8Array): boolean {
  if (!suspicious(body)) return false;
  for (const [token] of decoder.decode(body).matchAll(TOKEN)) {
    if (token[0] === '"' ? splitsPair(token) : !Number.isFinite(Number(token))) return true;
  }
  return false;
}

/** A string, or a number outside of one. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/gs;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|[^])/g;

/** Digits in a row that a number needs, without an exponent, before it may be too large for a double. */
const MANY_DIGITS = 64;
const QUOTE = 0x22;
const MINUS = 0x2d;
const DOT = 0x2e;
const BACKSLASH = 0x5c;
const LOWER = 0x20;

/**
 * One look at every byte: an escape of a surrogate, a long row of digits, or an exponent of three
 * digits behind a digit. Strings are looked at as well; what is found is only a suspicion.
 */
function suspicious(body: Uint8Array): boolean {
  let digits = 0;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!;
    if (byte >= ZERO && byte <= NINE) {
      if (++digits === MANY_DIGITS) return true;
      continue;
    }
    if (byte === BACKSLASH) {
      if (body[at + 1] === 0x75 && (body[at + 2]! | LOWER) === 0x64) return true;
      // What is escaped cannot be the beginning of an escape.
      at++;
    } else if ((byte | LOWER) === 0x65 && digits > 0 && numberBefore(body, at - digits)) {
      const exponent = at + (body[at + 1] === 0x2b ? 2 : 1);
      let length = 0;
      while (isDigit(body[exponent + length])) length++;
      if (length > 2) return true;
    }
    digits = 0;
  }
  return false;
}

/** Whether the digits that begin here can be a number's, and not the end of an id in hexadecimal. */
function numberBefore(body: Uint8Array, start: number): boolean {
  const before = body[start - 1];
  if (before === DOT) return isDigit(body[start - 2]);
  return !isWord(before === MINUS ? body[start - 2] : before);
}

/** Whether a string escapes half a surrogate pair. */
function splitsPair(token: string): boolean {
  let high = -1;
  for (const escape of token.matchAll(ESCAPE)) {
    const unit = escape[1] === undefined ? 0 : parseInt(escape[1], 16);
    const kind = unit & 0xfc00;
    const follows = high >= 0 && escape.index === high + 6;
    if (high >= 0 && !(follows && kind === 0xdc00)) return true;
    if (kind === 0xdc00 && high < 0) return true;
    high = kind === 0xd800 ? escape.index : -1;
  }
  return high >= 0;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isWord(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const lower = byte | LOWER;
  return isDigit(byte) || byte === QUOTE || (lower >= 0x61 && lower <= 0x7a);
}

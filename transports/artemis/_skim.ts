/**
 * Finds in the bytes of a message what every delivery needs, and makes nothing else of them: the
 * client makes an object of each value, which costs more than all that is done with the message.
 */

import type { Buffer } from "node:buffer";
import type { AmqpMap } from "./_amqp.ts";
import { WIDTHS } from "./_bounds.ts";

/** What was found. */
export interface Skimmed {
  /** The body, where it lies: a text or bytes. */
  readonly body: Uint8Array;
  /** The broker's own count of earlier deliveries; 0 when it does not say. */
  readonly deliveryCount: number;
  /** The application properties; undefined when they are not all texts. */
  readonly properties: AmqpMap | undefined;
}

/** Sections, by the small number that describes them. */
const HEADER = 0x70;
const IDENTITY = 0x73;
const PROPERTIES = 0x74;
const DATA = 0x75;
const VALUE = 0x77;

/** Constructors of values: the shorter of two has a size of one byte, the longer one of four. */
const NULL = 0x40;
const UINT = 0x70;
const SMALL_UINT = 0x52;
const ZERO = 0x43;
const TEXT = [0xa1, 0xb1] as const;
const BYTES = [0xa0, 0xb0] as const;
const LIST = [0xc0, 0xd0] as const;
const EMPTY_LIST = 0x45;
const MAP = [0xc1, 0xd1] as const;
/** Those that every reader understands alike; of the others the client decides. */
const PLAIN: ReadonlySet<number> = new Set([
  ...[NULL, 0x41, 0x42, ZERO, 0x44, EMPTY_LIST],
  ...[0x50, 0x51, SMALL_UINT, 0x53, 0x54, 0x55, 0x56],
  ...[0x60, 0x61, UINT, 0x71, 0x72, 0x73, 0x80, 0x81, 0x82, 0x83, 0x98],
  ...[...TEXT, ...BYTES, 0xa3, 0xb3, ...LIST, ...MAP],
]);
/** How long a value is, by its constructor; undefined for one that is looked at further. */
const FIXED: readonly (number | undefined)[] = Array.from(
  { length: 256 },
  (_, code) => PLAIN.has(code) ? WIDTHS[code >> 4] : undefined,
);
const SIZED: readonly boolean[] = Array.from(
  { length: 256 },
  (_, code) => PLAIN.has(code) && code >= 0xa0,
);
/** Lists and maps within each other that are looked into. */
const DEEPEST = 8;
/** Which element of the header the count is. */
const COUNT_AT = 4;

/**
 * Skims a message. It finds what the client would, but for a body that should be text and is no
 * UTF-8: of that it has the bytes.
 *
 * @param bytes The message.
 * @returns What was found; undefined when the client has to decode it.
 */
export function skim(bytes: Buffer): Skimmed | undefined {
  let deliveryCount: number | undefined = 0;
  let properties: AmqpMap | undefined = {};
  let previous = 0;
  // Each section is described by a small number, and stands behind those with smaller ones.
  for (let at = 0; bytes[at] === 0x00 && bytes[at + 1] === 0x53;) {
    const section = bytes[at + 2]!;
    const from = at + 3;
    const end = endOf(bytes, from, 0);
    if (!(end <= bytes.length) || section <= previous || section < HEADER) return undefined;
    const code = bytes[from]!;
    if (section > PROPERTIES) {
      const kind: readonly number[] = section === VALUE ? TEXT : section === DATA ? BYTES : [];
      // What follows a body is another one, or a footer.
      if (!kind.includes(code) || end < bytes.length) return undefined;
      const body = from + headOf(code);
      return {
        body: new Uint8Array(bytes.buffer, bytes.byteOffset + body, end - body),
        deliveryCount,
        properties,
      };
    }
    if (section === HEADER || section === IDENTITY ? !isList(code) : !isMap(code)) return undefined;
    if (section === HEADER) deliveryCount = countIn(bytes, from);
    if (deliveryCount === undefined) return undefined;
    if (section === PROPERTIES) properties = textsIn(bytes, from);
    previous = section;
    at = end;
  }
  return undefined;
}

function isList(code: number): boolean {
  return code === LIST[0] || code === LIST[1] || code === EMPTY_LIST;
}

function isMap(code: number): boolean {
  return code === MAP[0] || code === MAP[1];
}

/** Length of a constructor and the size behind it. */
function headOf(code: number): number {
  return (code & 0x10) === 0 ? 2 : 5;
}

/** Where a value ends; not a number when it is of a kind that is not looked at, or its parts do not fit. */
function endOf(bytes: Buffer, at: number, depth: number): number {
  const code = bytes[at];
  if (code === undefined) return NaN;
  const width = FIXED[code];
  if (width !== undefined) return at + 1 + width;
  if (!SIZED[code]) return NaN;
  const head = headOf(code);
  const end = at + head + sizeAt(bytes, at + 1, head - 1);
  return code < LIST[0] || holds(bytes, at, end, depth) ? end : NaN;
}

/** Whether the elements of a list or map are what its size says. */
function holds(bytes: Buffer, from: number, end: number, depth: number): boolean {
  if (end > bytes.length || depth === DEEPEST) return false;
  let left = countOf(bytes, from);
  if (isMap(bytes[from]!) && left % 2 !== 0) return false;
  let at = firstOf(bytes, from);
  for (; left > 0 && at < end; left--) at = endOf(bytes, at, depth + 1);
  return left === 0 && at === end;
}

function countOf(bytes: Buffer, from: number): number {
  const head = headOf(bytes[from]!);
  return sizeAt(bytes, from + head, head - 1);
}

function firstOf(bytes: Buffer, from: number): number {
  return from + 2 * headOf(bytes[from]!) - 1;
}

/** A size or a count, of one byte or of four. */
function sizeAt(bytes: Buffer, at: number, width: number): number {
  return width === 1 ? bytes[at]! : bytes[at]! * 0x100_0000 +
    ((bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!);
}

/** The count of earlier deliveries in a header that is whole. */
function countIn(bytes: Buffer, from: number): number | undefined {
  if (bytes[from] === EMPTY_LIST || countOf(bytes, from) <= COUNT_AT) return 0;
  let at = firstOf(bytes, from);
  for (let n = 0; n < COUNT_AT; n++) at = endOf(bytes, at, 1);
  switch (bytes[at]) {
    case NULL:
    case ZERO:
      return 0;
    case SMALL_UINT:
      return bytes[at + 1];
    case UINT:
      return sizeAt(bytes, at + 1, 4);
  }
  return undefined;
}

/** A map that is whole, if it has only texts. */
function textsIn(bytes: Buffer, from: number): AmqpMap | undefined {
  const texts: Record<string, string> = {};
  let at = firstOf(bytes, from);
  for (let left = countOf(bytes, from); left > 0; left -= 2) {
    const middle = endOf(bytes, at, 1);
    const name = textAt(bytes, at, middle);
    at = endOf(bytes, middle, 1);
    const text = textAt(bytes, middle, at);
    if (name === undefined || text === undefined || name === "__proto__") return undefined;
    texts[name] = text;
  }
  return texts;
}

function textAt(bytes: Buffer, from: number, end: number): string | undefined {
  const code = bytes[from]!;
  if (code !== TEXT[0] && code !== TEXT[1]) return undefined;
  return bytes.toString("utf8", from + headOf(code), end);
}

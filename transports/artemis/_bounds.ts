/**
 * Whether the client may decode a message: it makes an object of each value, and believes every count,
 * so that thirteen bytes could ask it for a billion of them.
 */

import type { Buffer } from "node:buffer";

/** Most values of a message; one with more is kept as its bytes. */
const MOST_VALUES = 100_000;
/** Values inside each other that are looked into. */
const DEEPEST = 100;
/** How many bytes a value has behind its constructor, by the upper half of that; the others say it. */
export const WIDTHS: Readonly<Record<number, number>> = { 4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16 };

/** Where reading stands, and how many values may still come. */
interface Walk {
  readonly bytes: Buffer;
  at: number;
  left: number;
}

/** Whether a message has no more values than a message can have, and is whole. */
export function isReadable(bytes: Buffer): boolean {
  const walk: Walk = { bytes, at: 0, left: MOST_VALUES };
  try {
    while (walk.at < bytes.length) value(walk, 0);
    return walk.at === bytes.length;
  } catch {
    return false;
  }
}

function value(walk: Walk, depth: number): void {
  content(walk, constructor(walk, depth), depth);
}

/** The code of a value, behind what describes it. */
function constructor(walk: Walk, depth: number): number {
  for (;;) {
    const code = uint(walk, 1);
    if (code !== 0x00) return code;
    value(walk, depth + 1);
  }
}

function content(walk: Walk, code: number, depth: number): void {
  if (--walk.left < 0 || depth > DEEPEST) throw new RangeError("too many values");
  const kind = code >> 4;
  const size = (kind & 1) === 0 ? 1 : 4;
  switch (kind) {
    case 0xa:
    case 0xb:
      return skip(walk, uint(walk, size));
    case 0xc:
    case 0xd: {
      skip(walk, size);
      for (let count = uint(walk, size); count > 0; count--) value(walk, depth + 1);
      return;
    }
    case 0xe:
    case 0xf: {
      skip(walk, size);
      const count = uint(walk, size);
      const element = constructor(walk, depth);
      for (let n = 0; n < count; n++) content(walk, element, depth + 1);
      return;
    }
    default:
      return skip(walk, WIDTHS[kind] ?? Infinity);
  }
}

function uint(walk: Walk, width: number): number {
  const { bytes, at } = walk;
  skip(walk, width);
  return bytes.readUIntBE(at, width);
}

function skip(walk: Walk, count: number): void {
  walk.at += count;
  if (!(walk.at <= walk.bytes.length)) throw new RangeError("cut short");
}

/**
 * A tolerant scanner of JSON text, independent of the library's own, for what `JSON.parse` hides:
 * repeated members, the spelling of a value and the depth.
 *
 * @module
 */

import assert from "node:assert/strict";

/** One member of an object, as it is spelled. */
export interface ScannedMember {
  /** The name, escapes resolved. */
  readonly name: string;
  /** The text of the value, without white space around it. */
  readonly valueText: string;
}

/** The members of the object that `source` holds, in order, repeated ones included. */
export function scanMembers(source: string): readonly ScannedMember[] {
  const members: ScannedMember[] = [];
  let at = skipSpace(source, 0);
  assert.equal(source[at], "{", "the text is no JSON object");
  at = skipSpace(source, at + 1);
  while (source[at] !== "}") {
    const nameEnd = endOfString(source, at);
    const name = JSON.parse(source.slice(at, nameEnd)) as string;
    at = skipSpace(source, nameEnd);
    assert.equal(source[at], ":", `no colon behind member '${name}'`);
    const start = skipSpace(source, at + 1);
    const end = endOfValue(source, start);
    members.push({ name, valueText: source.slice(start, end).trimEnd() });
    at = skipSpace(source, end);
    if (source[at] !== ",") break;
    at = skipSpace(source, at + 1);
  }
  assert.equal(source[at], "}", "the JSON object does not end");
  return members;
}

/** The text without the white space between its tokens. */
export function compact(source: string): string {
  let result = "";
  for (let at = 0; at < source.length;) {
    const end = source[at] === '"' ? endOfString(source, at) : at + 1;
    const token = source.slice(at, end);
    if (!/^[ \t\n\r]$/.test(token)) result += token;
    at = end;
  }
  return result;
}

/** The deepest nesting of containers in the text, the root counted as 1. */
export function depthOf(source: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < source.length;) {
    const character = source[at];
    if (character === '"') {
      at = endOfString(source, at);
      continue;
    }
    if (character === "{" || character === "[") deepest = Math.max(deepest, ++depth);
    if (character === "}" || character === "]") depth--;
    at++;
  }
  return deepest;
}

function skipSpace(source: string, from: number): number {
  let at = from;
  while (/[ \t\n\r]/.test(source[at] ?? "")) at++;
  return at;
}

function endOfString(source: string, from: number): number {
  assert.equal(source[from], '"', `no string at offset ${from}`);
  let at = from + 1;
  while (source[at] !== '"') {
    assert.ok(at < source.length, `the string at offset ${from} does not end`);
    at += source[at] === "\\" ? 2 : 1;
  }
  return at + 1;
}

function endOfValue(source: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < source.length) {
    const character = source[at]!;
    if (character === '"') {
      at = endOfString(source, at);
      continue;
    }
    if (depth === 0 && (character === "," || character === "}")) return at;
    if (character === "{" || character === "[") depth++;
    if (character === "}" || character === "]") depth--;
    at++;
  }
  return at;
}

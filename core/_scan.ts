/**
 * Finds the members of a JSON object in its text without parsing a value. On a text that is valid
 * JSON the spans are exact; on any other text the scan ends all the same, in linear time and
 * without recursion, and only `JSON.parse` says that the text is valid.
 *
 * @module
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The text is no JSON. */
export const MALFORMED = -1;

/** Containers nest deeper than allowed. */
export const TOO_DEEP = -2;

/** Longest spelling of a name that is worth unescaping: fourteen characters as six each, and quotes. */
const LONGEST_ESCAPED_NAME = 86;

/** The names that are of interest, by their length. */
export type Names = readonly (readonly string[] | undefined)[];

/** Sorts names by their length. */
export function namesOf(names: readonly string[]): Names {
  const byLength: string[][] = [];
  for (const name of names) (byLength[name.length] ??= []).push(name);
  return byLength;
}

/** A member whose name was asked for. */
export interface Member {
  /** Its name, unescaped. */
  readonly name: string;
  /** How many members stand before it. */
  readonly index: number;
  /** Where the member before it ends; the place after the brace for the first. */
  readonly previousEnd: number;
  /** Where its name begins, at the quote. */
  readonly start: number;
  /** Where its value begins. */
  readonly valueStart: number;
  /** Where its value ends. */
  readonly valueEnd: number;
  /** Where the next member begins, or -1. */
  nextStart: number;
}

/** An object as it stands in a text. */
export interface ObjectSpan {
  /** The members that were asked for, every occurrence, in the order of the text. */
  readonly members: readonly Member[];
  /** How many members there are in all. */
  readonly count: number;
  /** Where the opening brace stands. */
  readonly start: number;
  /** Where the last member ends; the place after the brace in an empty object. */
  readonly membersEnd: number;
  /** The place after the closing brace. */
  readonly end: number;
}

/** The place of the first character at or after `at` that is no JSON white space. */
export function skipSpace(text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The place after the string whose opening quote is at `at`, or MALFORMED. */
export function endOfString(text: string, at: number): number {
  let quote = at;
  for (;;) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) return MALFORMED;
    let first = quote;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if (((quote - first) & 1) === 0) return quote + 1;
  }
}

/**
 * The place after the array or object that begins at `at`; MALFORMED, or TOO_DEEP when more than
 * `room` containers nest, this one included.
 */
export function endOfContainer(text: string, at: number, room: number): number {
  let depth = 0;
  for (let next = at; next < text.length; next++) {
    switch (text.charCodeAt(next)) {
      case QUOTE:
        next = endOfString(text, next) - 1;
        if (next < 0) return MALFORMED;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > room) return TOO_DEEP;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (--depth === 0) return next + 1;
    }
  }
  return MALFORMED;
}

/** The place after the value that begins at `at`, MALFORMED or TOO_DEEP. */
function endOfValue(text: string, at: number, room: number): number {
  switch (text.charCodeAt(at)) {
    case QUOTE:
      return endOfString(text, at);
    case OPEN_ARRAY:
    case OPEN_OBJECT:
      return endOfContainer(text, at, room);
  }
  let end = at;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === COMMA || code === CLOSE_OBJECT || isSpace(code)) break;
  }
  return end > at ? end : MALFORMED;
}

/**
 * Finds the members of the object at `at`.
 *
 * @param text The text.
 * @param at Where the opening brace is expected.
 * @param names The names that are of interest.
 * @param room How many containers may nest, this one included.
 * @returns The object, MALFORMED or TOO_DEEP.
 */
export function scanObject(
  text: string,
  at: number,
  names: Names,
  room: number,
): ObjectSpan | typeof MALFORMED | typeof TOO_DEEP {
  if (text.charCodeAt(at) !== OPEN_OBJECT) return MALFORMED;
  const members: Member[] = [];
  let pending: Member | undefined;
  let previousEnd = at + 1;
  let count = 0;
  let next = skipSpace(text, previousEnd);
  if (text.charCodeAt(next) === CLOSE_OBJECT) {
    return { members, count, start: at, membersEnd: previousEnd, end: next + 1 };
  }
  for (;;) {
    const start = next;
    if (text.charCodeAt(start) !== QUOTE) return MALFORMED;
    const nameEnd = endOfString(text, start);
    if (nameEnd < 0) return MALFORMED;
    next = skipSpace(text, nameEnd);
    if (text.charCodeAt(next) !== COLON) return MALFORMED;
    const valueStart = skipSpace(text, next + 1);
    const valueEnd = endOfValue(text, valueStart, room - 1);
    if (valueEnd < 0) return valueEnd === TOO_DEEP ? TOO_DEEP : MALFORMED;
    if (pending !== undefined) {
      pending.nextStart = start;
      pending = undefined;
    }
    const name = memberName(text, start, nameEnd, names);
    if (name !== undefined) {
      pending = { name, index: count, previousEnd, start, valueStart, valueEnd, nextStart: -1 };
      members.push(pending);
    }
    count++;
    previousEnd = valueEnd;
    next = skipSpace(text, valueEnd);
    const code = text.charCodeAt(next);
    if (code === CLOSE_OBJECT) {
      return { members, count, start: at, membersEnd: valueEnd, end: next + 1 };
    }
    if (code !== COMMA) return MALFORMED;
    next = skipSpace(text, next + 1);
  }
}

/** Which of the names a member has, if any; its spelling may hold escapes. */
function memberName(text: string, start: number, end: number, names: Names): string | undefined {
  const found = names[end - start - 2]?.find((name) => text.startsWith(name, start + 1));
  if (found !== undefined || end - start > LONGEST_ESCAPED_NAME) return found;
  // Names are short, so looking for a backslash by hand is faster than cutting them out.
  for (let at = start + 1; at < end - 1; at++) {
    if (text.charCodeAt(at) !== BACKSLASH) continue;
    const name = stringAt(text, start, end);
    return name === undefined || !names[name.length]?.includes(name) ? undefined : name;
  }
  return undefined;
}

/** The text of a value as a string; undefined when it is no string or badly escaped. */
export function stringAt(text: string, start: number, end: number): string | undefined {
  if (text.charCodeAt(start) !== QUOTE) return undefined;
  try {
    return JSON.parse(text.slice(start, end)) as string;
  } catch {
    return undefined;
  }
}

/** Whether the containers of a text nest deeper than `room`; false on text that is no JSON. */
export function nestsTooDeep(text: string, room: number): boolean {
  // Each takes two characters. Counting is much the cheaper test, and few bodies hold that many.
  if (text.length < 2 * room) return false;
  let left = room;
  for (const brace of ["{", "["]) {
    for (let at = text.indexOf(brace); at >= 0; at = text.indexOf(brace, at + 1)) {
      if (--left < 0) return endOfContainer(text, 0, room) === TOO_DEEP;
    }
  }
  return false;
}

/**
 * Writes JSON as `JSON.stringify` does, and refuses what that would silently lose. Contract: C12–C14,
 * C17.
 *
 * @module
 */

import { BabelQueueError } from "./errors.ts";
import { DEEPEST_NESTING } from "./_contract.ts";
import { isObject } from "./_fold.ts";
import { nestsTooDeep } from "./_scan.ts";
import { messageOf } from "./thrown.ts";

/** `JSON.rawJSON`, which no library of types knows yet. */
interface RawJson {
  rawJSON(text: string): unknown;
}

/**
 * Writes a value as compact JSON. A `bigint` becomes an integer literal.
 *
 * @param value The value.
 * @param pointer RFC 6901 pointer to the value, for messages.
 * @returns The text; undefined for a value that has none, as a function.
 * @throws {BabelQueueError} `invalid_data` for a number that is not finite, a cycle, and a function,
 * symbol or undefined in an array.
 */
export function toJson(value: unknown, pointer: string): string | undefined {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    if (!hasBigint(value, pointer)) throw unwritable(pointer, cause);
    try {
      text = JSON.stringify(value, writeBigint);
    } catch (boxed) {
      throw unwritable(pointer, boxed);
    }
    return within(text, pointer);
  }
  // What JSON.stringify cannot write in an array, and a number that is not finite, becomes null.
  if (text !== undefined && hasNull(text) && !isPlain(value, 0)) check(value, pointer);
  return within(text, pointer);
}

/** Refuses a text that nests deeper than anyone may read. Contract: C68. */
function within(text: string | undefined, pointer: string): string | undefined {
  const levels = DEEPEST_NESTING - (pointer.split("/").length - 1);
  if (text === undefined || !nestsTooDeep(text, levels)) return text;
  throw new BabelQueueError(
    "invalid_data",
    `Cannot encode ${pointer || "the envelope"}: it nests deeper than ${levels} containers`,
  );
}

/** The error of a value whose own code, or whose shape, `JSON.stringify` cannot take. */
export function unwritable(pointer: string, cause: unknown): BabelQueueError {
  return new BabelQueueError(
    "invalid_data",
    `Cannot encode ${pointer || "the envelope"}: reading it failed: ${messageOf(cause)}`,
    { cause },
  );
}

/**
 * The value that `JSON.stringify` writes in place of one that knows its own JSON, so that it can be
 * looked at before it is written. A value without `toJSON` is given back as it is.
 *
 * @throws {BabelQueueError} `invalid_data` when its `toJSON` throws.
 */
export function resolved(value: unknown, key: string, pointer: string): unknown {
  try {
    const toJSON = toJsonOf(value);
    if (toJSON === undefined) return value;
    const result: unknown = toJSON.call(value, key);
    if (!isObject(result) || toJsonOf(result) === undefined) return result;
    // JSON.stringify asks once: what the answer would say about itself does not count.
    const { toJSON: _, ...members } = result;
    return members;
  } catch (cause) {
    throw unwritable(pointer, cause);
  }
}

/** The function that says what is written in place of a value. */
function toJsonOf(value: unknown): ((this: unknown, key: string) => unknown) | undefined {
  const found = (value as { toJSON?: unknown } | null | undefined)?.toJSON;
  if (typeof found !== "function") return undefined;
  return found as (this: unknown, key: string) => unknown;
}

function hasNull(text: string): boolean {
  // Engines look for the first character of a short word, and most texts hold more n than u.
  return text.includes("ull") && text.includes("null");
}

/** Nesting up to which the quick look goes. */
const SHALLOW = 64;

/** Whether every null in the text of a value stood in the value; false is not certain. */
function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    default:
      return true;
  }
  if (value === null) return true;
  if (depth === SHALLOW || typeof (value as { toJSON?: unknown }).toJSON === "function") {
    return false;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item = value[index] as unknown;
      if (item === undefined || typeof item === "function" || typeof item === "symbol") {
        return false;
      }
      if (!isPlain(item, depth + 1)) return false;
    }
    return true;
  }
  for (const key in value) {
    if (!isPlain((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return !(value instanceof Number);
}

/** Whether a value that could not be written holds a `bigint` and nothing worse. */
function hasBigint(value: unknown, pointer: string): boolean {
  try {
    return check(value, pointer);
  } catch (error) {
    if (error instanceof BabelQueueError) throw error;
    return false;
  }
}

function writeBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? (JSON as unknown as RawJson).rawJSON(String(value)) : value;
}

/** A container on the way down. */
interface Level {
  readonly value: object;
  readonly keys: readonly string[];
  readonly isArray: boolean;
  next: number;
}

/** Looks at every value that would be written; says whether there is a `bigint` among them. */
function check(root: unknown, pointer: string): boolean {
  const levels: Level[] = [];
  const above = new Set<object>();
  let found = false;
  const path = (): string =>
    pointer + levels.map(({ keys, next }) => `/${escape(keys[next - 1] ?? "")}`).join("");
  const refuse = (what: string): never => {
    throw new BabelQueueError("invalid_data", `Cannot encode ${path() || "the envelope"}: ${what}`);
  };

  const visit = (given: unknown, key: string, inArray: boolean): void => {
    const value = written(given, key);
    switch (typeof value) {
      case "number":
        if (!Number.isFinite(value)) refuse(`${value} is no JSON number`);
        return;
      case "bigint":
        if (!Number.isFinite(Number(value))) refuse("the bigint is beyond the range of a double");
        found = true;
        return;
      case "function":
      case "symbol":
      case "undefined":
        if (inArray) refuse(`an array cannot hold a value of type ${typeof value}`);
        return;
      case "object":
        if (value === null) return;
        if (above.has(value)) refuse("the value contains itself");
        if (levels.length >= DEEPEST_NESTING) {
          refuse(`it nests deeper than ${DEEPEST_NESTING} levels`);
        }
        above.add(value);
        levels.push(levelOf(value));
    }
  };

  visit(root, "", false);
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const key = level.keys[level.next++];
    if (key === undefined) {
      above.delete(level.value);
      levels.pop();
    } else {
      visit((level.value as Record<string, unknown>)[key], key, level.isArray);
    }
  }
  return found;
}

function levelOf(value: object): Level {
  const isArray = Array.isArray(value);
  // An array's holes are written too.
  const keys = isArray ? Array.from(value, (_, index) => String(index)) : Object.keys(value);
  return { value, keys, isArray, next: 0 };
}

/** The value that JSON.stringify writes in place of another. */
function written(value: unknown, key: string): unknown {
  let result = value;
  if (typeof value === "bigint" || (typeof value === "object" && value !== null)) {
    const toJSON = toJsonOf(value);
    if (toJSON !== undefined) result = toJSON.call(value, key);
  }
  if (result instanceof Number || result instanceof BigInt) return result.valueOf();
  if (result instanceof String || result instanceof Boolean) return null;
  return result;
}

/** A name inside an RFC 6901 pointer. Contract: C53. */
export function escape(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

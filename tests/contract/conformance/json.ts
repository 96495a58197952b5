/**
 * Reading of JSON test data: narrowing with messages, RFC 6901 pointers and a comparison that keeps
 * JSON types apart.
 *
 * @module
 */

import assert from "node:assert/strict";

/** A JSON object of the manifest. */
export type JsonRecord = { readonly [name: string]: unknown };

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that has to be an object. */
export function record(owner: JsonRecord, name: string): JsonRecord {
  const value = member(owner, name);
  assert.ok(isRecord(value), `the case's '${name}' is no object`);
  return value;
}

/** A member that has to be a string. */
export function text(owner: JsonRecord, name: string): string {
  const value = member(owner, name);
  assert.ok(typeof value === "string", `the case's '${name}' is no string`);
  return value;
}

/** A member that has to be a number. */
export function number(owner: JsonRecord, name: string): number {
  const value = member(owner, name);
  assert.ok(typeof value === "number", `the case's '${name}' is no number`);
  return value;
}

/** A member that has to be a list; an absent one is empty. */
export function list(owner: JsonRecord, name: string): readonly unknown[] {
  const value = member(owner, name) ?? [];
  assert.ok(Array.isArray(value), `the case's '${name}' is no list`);
  return value;
}

/** An own member; undefined when absent, also for names that every object inherits. */
export function member(owner: JsonRecord, name: string): unknown {
  return Object.hasOwn(owner, name) ? owner[name] : undefined;
}

/** What an RFC 6901 pointer leads to. */
export type Found = { readonly found: true; readonly value: unknown } | { readonly found: false };

/** Follows an RFC 6901 pointer. */
export function follow(document: unknown, pointer: string): Found {
  if (pointer === "") return { found: true, value: document };
  assert.ok(pointer.startsWith("/"), `'${pointer}' is no JSON pointer`);
  let at: unknown = document;
  for (const part of pointer.slice(1).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return { found: false };
    if (Array.isArray(at) && !/^(?:0|[1-9][0-9]*)$/.test(name)) return { found: false };
    at = (at as JsonRecord)[name];
  }
  return { found: true, value: at };
}

/** Whether two parsed JSON values are equal: an object is never an array, `true` is not 1, and -0 is 0. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) || Array.isArray(right)) {
    return Array.isArray(left) && Array.isArray(right) && left.length === right.length &&
      left.every((value, index) => sameJson(value, right[index]));
  }
  if (!isRecord(left) || !isRecord(right)) return left === right;
  const names = Object.keys(left);
  return names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && sameJson(left[name], right[name]));
}

/** Fails unless both values are the same JSON. */
export function assertSameJson(actual: unknown, expected: unknown, what: string): void {
  assert.ok(
    sameJson(actual, expected),
    `${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`,
  );
}

/** Fails unless every pointer of `expected` holds its value in the document. */
export function assertPreserved(document: unknown, expected: unknown, what: string): void {
  assert.ok(isRecord(expected), "the expected pointers are no object");
  for (const [pointer, value] of Object.entries(expected)) {
    const result = follow(document, pointer);
    assert.ok(result.found, `${what}: nothing at ${pointer}`);
    assertSameJson(result.value, value, `${what}: ${pointer}`);
  }
}

/** Fails when one of the pointers leads anywhere. */
export function assertAbsent(document: unknown, pointers: readonly unknown[], what: string): void {
  for (const pointer of pointers) {
    assert.ok(typeof pointer === "string", "a pointer is no string");
    assert.ok(!follow(document, pointer).found, `${what}: ${pointer} is there`);
  }
}

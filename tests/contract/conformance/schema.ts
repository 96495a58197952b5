/**
 * A JSON Schema validator of just the words that the schema of the results file uses. A word it does
 * not know is an error, so that nothing goes unchecked in silence.
 *
 * @module
 */

import assert from "node:assert/strict";
import { follow, isRecord, type JsonRecord, sameJson } from "./json.ts";

type Rule = (argument: unknown, value: unknown, at: Place) => readonly string[];

interface Place {
  readonly path: string;
  readonly schema: JsonRecord;
  readonly root: JsonRecord;
}

/** Every violation, as `<path>: <what is wrong>`; empty when the value is valid. */
export function violations(
  value: unknown,
  schema: JsonRecord,
  root: JsonRecord = schema,
  path: string = "",
): readonly string[] {
  const at = { path, schema, root };
  return Object.entries(schema).flatMap(([word, argument]) => {
    const rule = RULES.get(word);
    assert.ok(rule !== undefined, `Cannot validate: the schema word '${word}' is unknown`);
    return rule(argument, value, at);
  });
}

const nothing: Rule = () => [];
const wrong = (at: Place, what: string): readonly string[] => [`${at.path || "/"}: ${what}`];

function child(
  value: unknown,
  schema: unknown,
  at: Place,
  name: string | number,
): readonly string[] {
  assert.ok(isRecord(schema), "a schema is no object");
  return violations(value, schema, at.root, `${at.path}/${name}`);
}

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["$schema", nothing],
  ["$id", nothing],
  ["$defs", nothing],
  ["title", nothing],
  ["description", nothing],
  ["format", nothing], // the schema repeats its one format, a date and time, as a pattern
  ["then", nothing], // belongs to `if`
  ["type", (type, value, at) => typeOf(value) === type ? [] : wrong(at, `no ${String(type)}`)],
  [
    "enum",
    (allowed, value, at) =>
      (allowed as readonly unknown[]).includes(value) ? [] : wrong(at, "not one of the values"),
  ],
  ["const", (only, value, at) => sameJson(value, only) ? [] : wrong(at, "not the value")],
  [
    "minLength",
    (min, value, at) =>
      typeof value !== "string" || [...value].length >= (min as number)
        ? []
        : wrong(at, "too short"),
  ],
  [
    "pattern",
    (pattern, value, at) =>
      typeof value !== "string" || new RegExp(pattern as string, "u").test(value)
        ? []
        : wrong(at, `does not match ${String(pattern)}`),
  ],
  ["required", (names, value, at) =>
    (names as readonly string[])
      .filter((name) => isRecord(value) && !Object.hasOwn(value, name))
      .flatMap((name) => wrong(at, `no member '${name}'`))],
  ["properties", (schemas, value, at) =>
    Object.entries(schemas as JsonRecord)
      .filter(([name]) => isRecord(value) && Object.hasOwn(value, name))
      .flatMap(([name, schema]) => child((value as JsonRecord)[name], schema, at, name))],
  ["additionalProperties", (schema, value, at) => {
    const known = Object.keys((at.schema["properties"] ?? {}) as JsonRecord);
    return Object.entries(isRecord(value) ? value : {})
      .filter(([name]) => !known.includes(name))
      .flatMap(([name, extra]) =>
        schema === false ? wrong(at, `unknown member '${name}'`) : child(extra, schema, at, name)
      );
  }],
  ["items", (schema, value, at) =>
    (Array.isArray(value) ? value : [])
      .flatMap((item, index) => child(item, schema, at, index))],
  [
    "uniqueItems",
    (_, value, at) =>
      Array.isArray(value) && new Set(value).size < value.length
        ? wrong(at, "a repeated item")
        : [],
  ],
  ["$ref", (reference, value, at) => {
    const target = follow(at.root, String(reference).replace(/^#/, ""));
    assert.ok(target.found && isRecord(target.value), `no schema at ${String(reference)}`);
    return violations(value, target.value, at.root, at.path);
  }],
  ["if", (condition, value, at) => {
    const then = at.schema["then"];
    const holds = violations(value, condition as JsonRecord, at.root, at.path).length === 0;
    return holds && isRecord(then) ? violations(value, then, at.root, at.path) : [];
  }],
]);

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

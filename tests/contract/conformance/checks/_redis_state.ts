/** The keys of a queue in the suite's notation. */

import assert from "node:assert/strict";
import { type KeyState, type Lab, type Scored, utf8 } from "../../../redis/lab.ts";
import {
  assertSameJson,
  isRecord,
  type JsonRecord,
  list,
  member,
  number,
  record,
  text,
} from "../json.ts";

const ANY_TOKEN = "<any>";

/** What the keys are to be, by the state of a case. */
export function stateOf(state: JsonRecord): KeyState {
  return {
    ready: [...list(state, "ready").map(plain), ...generated(state, "ready_generate")],
    processing: list(state, "processing").map(plain),
    delayed: [
      ...list(state, "delayed").map(scored),
      ...generated(state, "delayed_generate").map((item) => ({
        member: item,
        score: number(record(state, "delayed_generate"), "score"),
      })),
    ],
    reserved: list(state, "reserved").map(scored),
    deadlines: list(state, "deadlines").map(scored),
    notify: member(state, "notify") === undefined ? 0 : number(state, "notify"),
  };
}

/** Holds the keys against what a step expects; a key that is not named is not looked at. */
export async function assertState(lab: Lab, expected: JsonRecord): Promise<void> {
  const actual = await lab.look();
  const wanted = stateOf(expected);
  for (const place of ["ready", "processing"] as const) {
    if (!names(expected, place)) continue;
    assert.deepEqual(actual[place], wanted[place], place);
  }
  for (const place of ["delayed", "reserved", "deadlines"] as const) {
    if (!names(expected, place)) continue;
    assertScored(actual[place], list(expected, place), place);
  }
  if (member(expected, "notify") !== undefined) {
    assert.equal(actual.notify, wanted.notify, "notify");
  }
  if (member(expected, "ready_count") !== undefined) {
    assert.equal(actual.ready.length, number(expected, "ready_count"), "ready_count");
  }
  if (member(expected, "dlq_count") !== undefined) {
    assert.equal((await lab.records()).length, number(expected, "dlq_count"), "dlq_count");
  }
  if (member(expected, "tokens_distinct") === true) {
    const tokens = actual.deadlines.map(({ member }) => member.slice(0, 32));
    assert.equal(new Set(tokens).size, tokens.length, "the tokens are distinct");
  }
}

function names(expected: JsonRecord, place: string): boolean {
  return member(expected, place) !== undefined ||
    member(expected, `${place}_generate`) !== undefined;
}

function assertScored(
  actual: readonly Scored[],
  expected: readonly unknown[],
  place: string,
): void {
  assert.equal(actual.length, expected.length, `the number of members of ${place}`);
  const left = [...actual];
  for (const item of expected) {
    assert.ok(isRecord(item), "a member is no object");
    const at = left.findIndex((candidate) => matches(candidate, item));
    assert.ok(at >= 0, `${place} has no ${JSON.stringify(item)}, but ${JSON.stringify(left)}`);
    left.splice(at, 1);
  }
}

function matches(actual: Scored, expected: JsonRecord): boolean {
  if (actual.score !== scoreOf(expected)) return false;
  const json = member(expected, "member_json") ?? member(expected, "body_json");
  if (json !== undefined) {
    try {
      assertSameJson(JSON.parse(latinToUtf8(actual.member)), json, "the member");
      return true;
    } catch {
      return false;
    }
  }
  if (member(expected, "token") === ANY_TOKEN) {
    return /^[0-9a-f]{32}:/.test(actual.member) &&
      actual.member.slice(33) === utf8(text(expected, "raw"));
  }
  return actual.member === scored(expected).member;
}

function scored(value: unknown): Scored {
  assert.ok(isRecord(value), "a member is no object");
  const token = member(value, "token");
  const json = member(value, "member_json") ?? member(value, "body_json");
  return {
    member: typeof token === "string"
      ? `${token}:${utf8(text(value, "raw"))}`
      : json === undefined
      ? utf8(text(value, "member"))
      : utf8(JSON.stringify(json)),
    score: scoreOf(value),
  };
}

function scoreOf(value: JsonRecord): number {
  return member(value, "score") === "+inf" ? Infinity : number(value, "score");
}

function plain(value: unknown): string {
  assert.ok(typeof value === "string", "a member is no string");
  return utf8(value);
}

function generated(state: JsonRecord, name: string): string[] {
  const rule = member(state, name);
  if (!isRecord(rule)) return [];
  const pattern = text(rule, "member");
  return Array.from(
    { length: number(rule, "count") },
    (_, at) => pattern.replace("%03d", String(at).padStart(3, "0")),
  );
}

function latinToUtf8(value: string): string {
  return new TextDecoder().decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
}

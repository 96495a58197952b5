/**
 * What a poison message looks like on a dead-letter queue: the section `poison_dlq`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { poisonBlock, poisonRecord } from "../../../../core/poison.ts";
import { assertSameJson, isRecord, type JsonRecord, list, member, record, text } from "../json.ts";
import type { CaseCheck } from "../run.ts";
import { depthOf, scanMembers } from "../scan.ts";
import { rawBody } from "./verdicts.ts";

/** Containers a body may nest and still be spliced, the root included. Contract: C68. */
const DEEPEST_SPLICE = 1000;

/** Section `poison_dlq`. Contract: C112–C119. */
export const checkPoisonRecord: CaseCheck = (item) => {
  const originalQueue = text(item.parent, "original_queue");
  const block = poisonBlock({
    cause: "test",
    originalQueue,
    attempts: 0,
    failedAtMs: 1_790_000_000_000,
  });
  const bytes = poisonRecord(rawBody(item), block);
  const written = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  assert.ok(!written.includes("\ufffd") || isReplacementInBody(item.value), "a replaced character");
  const members = scanMembers(written);
  const blocks = members.filter(({ name }) => name === "dead_letter");
  assert.equal(blocks.length, 1, "not exactly one top-level dead_letter");
  const writtenBlock: unknown = JSON.parse(blocks[0]!.valueText);
  assert.ok(isRecord(writtenBlock), "dead_letter is no object");
  assert.equal(writtenBlock["reason"], "poison", "dead_letter.reason");
  assert.equal(writtenBlock["original_queue"], originalQueue, "dead_letter.original_queue");

  const expected = record(item.value, "expect");
  const wanted = record(expected, "record");
  const shape = text(expected, "shape");
  const others = members.filter(({ name }) => name !== "dead_letter");
  const isWrapper = others.some(({ name }) => name === "raw") &&
    others.every(({ name }) => name === "raw" || name === "raw_encoding");
  if (shape === "splice_or_wrapper" && !isWrapper) {
    for (const literal of list(expected, "splice_literals")) {
      assert.ok(written.includes(String(literal)), `the record lost ${literal}`);
    }
    const names = new Set(others.map(({ name }) => name));
    assertSameJson([...names].sort(), [...list(expected, "splice_keys")].sort(), "the members");
    return;
  }
  if (shape === "splice_or_wrapper") {
    const depth = depthOf(text(item.value, "body"));
    assert.ok(depth > DEEPEST_SPLICE, "a body that can be spliced was wrapped");
  } else {
    assert.ok(shape === "splice" || shape === "wrapper", `the runner does not know '${shape}'`);
  }
  const parsed: unknown = JSON.parse(written);
  assert.ok(isRecord(parsed), "the record is no object");
  const { dead_letter: _block, ...rest } = parsed;
  assertSameJson(rest, wanted, "the record without dead_letter");
};

function isReplacementInBody(value: JsonRecord): boolean {
  return String(member(value, "body") ?? "").includes("\ufffd");
}

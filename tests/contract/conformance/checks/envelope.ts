/**
 * What an envelope says and how `data` is written: the sections `cases` and `data_shape`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../../../core/codec.ts";
import { readEnvelope } from "../../../../core/reading.ts";
import { follow, isRecord, record, text } from "../json.ts";
import type { CaseCheck } from "../run.ts";
import { compact, scanMembers } from "../scan.ts";
import { assertAt, bodyOf, decodeBoth, encodeAll, isComplete } from "./_codec.ts";

/** Section `cases`. Contract: C82. */
export const checkCase: CaseCheck = (item, suite) => {
  const body = bodyOf(item, suite);
  const { envelope } = decodeBoth(body);
  const accepted = envelope !== undefined && EnvelopeCodec.accepts(envelope);
  assert.equal(accepted, item.value["valid"], "whether it is accepted");
  assert.equal(isComplete(body), item.value["valid"], "whether the worker accepts it");
  if (!accepted) return;
  assert.equal(EnvelopeCodec.reject(envelope), null, "a reason to reject it");
  for (const [name, expected] of Object.entries(record(item.value, "expect"))) {
    if (name === "urn") {
      assert.equal(EnvelopeCodec.urn(envelope), expected, "the URN");
      assert.equal(readEnvelope(body).urn, expected, "the URN routed on");
      assert.equal(follow(envelope, "/job").found, true, "no job");
      assert.equal(follow(envelope, "/urn").found, false, "the alias is still there");
    } else if (name === "dead_letter") {
      assert.ok(isRecord(expected), "the expected dead_letter is no object");
      for (const [key, value] of Object.entries(expected)) {
        assertAt(envelope, `/dead_letter/${key}`, value);
      }
    } else {
      const pointer = POINTERS.get(name);
      assert.ok(pointer !== undefined, `the runner does not know the expectation '${name}'`);
      assertAt(envelope, pointer, expected);
    }
  }
};

const POINTERS: ReadonlyMap<string, string> = new Map([
  ["data", "/data"],
  ["attempts", "/attempts"],
  ["trace_id", "/trace_id"],
  ["meta", "/meta"],
  ["id", "/meta/id"],
  ["queue", "/meta/queue"],
  ["lang", "/meta/lang"],
  ["schema_version", "/meta/schema_version"],
  ["created_at", "/meta/created_at"],
]);

/** Section `data_shape`. Contract: C84. */
export const checkDataShape: CaseCheck = (item, suite) => {
  const mode = text(item.value, "mode");
  if (mode === "decode") {
    const body = bodyOf(item, suite);
    const { envelope } = decodeBoth(body);
    const accepted = envelope !== undefined && EnvelopeCodec.accepts(envelope);
    assert.equal(accepted, item.value["valid"], "whether it is accepted");
    assert.equal(isComplete(body), item.value["valid"], "whether the worker accepts it");
    return;
  }
  assert.equal(mode, "encode", "a mode that the runner does not know");
  const expected = text(item.value, "expect_encoded_data_json");
  for (const encoded of encodeAll(item.value)) {
    const data = scanMembers(encoded).filter(({ name }) => name === "data");
    assert.equal(data.length, 1, "not exactly one data member");
    assert.equal(compact(data[0]!.valueText), expected, "the text of data");
  }
};

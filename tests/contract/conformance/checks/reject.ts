/**
 * What may never be written: the section `encode_reject`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../../../core/codec.ts";
import type { Envelope, JsonObject } from "../../../../core/envelope.ts";
import { EnvelopeKeyError } from "../../../../core/errors.ts";
import { isRecord, type JsonRecord, list, member, record, text } from "../json.ts";
import { type CaseCheck, SkippedCase } from "../run.ts";

/** Names that are refused somewhere; which of several is named first is no matter of the suite. */
const RESERVED: ReadonlySet<string> = new Set([
  ...["timestamp", "urn"],
  ...["max_retries", "attempts", "source", "ts"],
  ...["id", "queue", "lang", "schema_version", "created_at"],
]);

/** Section `encode_reject`. Contract: C20–C22, C52. */
export const checkEncodeReject: CaseCheck = ({ value }) => {
  assert.equal(value["expect"], "reject", "an expectation that the runner does not know");
  const meta = metaOf(value);
  const top = optional(value, "extras_top");
  const extra = optional(value, "extras_meta");
  let written: string | undefined;
  let refusal: unknown;
  try {
    const made = EnvelopeCodec.make(
      text(value, "urn"),
      record(value, "data") as JsonObject,
      { queue: text(value, "queue"), ...(meta === undefined ? {} : { meta }) },
    );
    const carried = { ...made, ...top, meta: { ...made.meta, ...extra } } as Envelope;
    written = EnvelopeCodec.encode(carried);
  } catch (error) {
    refusal = error;
  }
  assert.equal(written, undefined, "an envelope was written");
  assert.ok(refusal instanceof EnvelopeKeyError, `the error is ${String(refusal)}`);
  const offered = [meta, top, extra].flatMap((entries) => Object.keys(entries ?? {}))
    .filter((name) => RESERVED.has(name));
  if (offered.length === 1) {
    assert.equal(refusal.pointer, text(value, "offending_key"), "the pointer of the error");
    assert.ok(refusal.message.includes(refusal.pointer), "the message does not name the key");
  }
};

/** The entries of the `meta` option; a repeated key cannot be expressed by it. */
function metaOf(value: JsonRecord): JsonRecord | undefined {
  if (!Object.hasOwn(value, "meta_entries")) return optional(value, "meta");
  const entries = list(value, "meta_entries").map((entry) => {
    assert.ok(Array.isArray(entry) && typeof entry[0] === "string", "an entry is no pair");
    return [entry[0], entry[1]] as const;
  });
  if (new Set(entries.map(([key]) => key)).size < entries.length) {
    throw new SkippedCase("ADR-0031", "the meta option is one map, which cannot repeat a key");
  }
  return Object.fromEntries(entries);
}

function optional(value: JsonRecord, name: string): JsonRecord | undefined {
  const entries = member(value, name);
  if (entries === undefined) return undefined;
  assert.ok(isRecord(entries), `'${name}' is no object`);
  return entries;
}

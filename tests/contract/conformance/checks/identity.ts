/**
 * White space and types of the identity: the sections `trim` and `job_type`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../../../core/codec.ts";
import { encodeNew } from "../../../../core/encode.ts";
import { readEnvelope } from "../../../../core/reading.ts";
import { follow, type JsonRecord, record, text } from "../json.ts";
import type { CaseCheck } from "../run.ts";
import type { Suite, SuiteCase } from "../suite.ts";
import { assertAt, bodyOf, decodeBoth, encodeAll, pointers, UUID_V4 } from "./_codec.ts";
import { checkReemit } from "./reemit.ts";

/** Section `trim`. Contract: C24, C30, C38, C90, C91. */
export const checkTrim: CaseCheck = (item, suite) => {
  const mode = text(item.value, "mode");
  if (mode === "make") return checkMake(item.value);
  if (mode === "decode") return checkDecode(item, suite);
  if (mode === "accepts") return checkAccepts(item, suite);
  assert.equal(mode, "reemit", "a mode that the runner does not know");
  return checkReemit(item, suite);
};

function checkMake(value: JsonRecord): void {
  if (value["expect"] === "reject") {
    assert.throws(() => EnvelopeCodec.make(text(value, "urn"), {}), { name: "BabelQueueError" });
    assert.throws(() => encodeAll(value), { name: "BabelQueueError" });
    assert.throws(
      () => encodeNew(text(value, "urn"), {}, { queue: "default", nowMs: 0 }),
      { name: "BabelQueueError" },
    );
    return;
  }
  const expected = record(value, "expect");
  for (const encoded of encodeAll(value)) {
    const document: unknown = JSON.parse(encoded);
    for (const [name, wanted] of Object.entries(expected)) assertAt(document, `/${name}`, wanted);
    if (Object.hasOwn(expected, "trace_id")) continue;
    const traceId = follow(document, "/trace_id");
    assert.ok(traceId.found && UUID_V4.test(String(traceId.value)), "no fresh trace_id");
  }
}

function checkDecode(item: SuiteCase, suite: Suite): void {
  const body = bodyOf(item, suite);
  const decoded = decodeBoth(body);
  assert.equal(decoded.envelope !== undefined, item.value["valid"], "whether decode succeeds");
  if (decoded.envelope === undefined) {
    assert.notEqual(readEnvelope(body).verdict().verdict, "ok", "the worker's verdict");
    assert.equal(EnvelopeCodec.urn(EnvelopeCodec.decodeLenient(body)), "", "the lenient URN");
    return;
  }
  const { urn } = record(item.value, "expect");
  assert.equal(EnvelopeCodec.urn(decoded.envelope), urn, "the URN");
  assert.equal(readEnvelope(body).urn, urn, "the URN routed on");
  const warns = item.value["expect_warning"];
  if (warns !== undefined) {
    assert.equal(decoded.warnings.length > 0, warns, `warnings: ${pointers(decoded)}`);
  }
}

function checkAccepts(item: SuiteCase, suite: Suite): void {
  const { envelope } = decodeBoth(bodyOf(item, suite));
  const lenient = EnvelopeCodec.decodeLenient(bodyOf(item, suite));
  assert.equal(EnvelopeCodec.accepts(lenient), item.value["expect_accepts"], "whether it accepts");
  const decodes = item.value["expect_decode_ok"];
  if (decodes !== undefined) {
    assert.equal(envelope !== undefined, decodes, "whether decode succeeds");
  }
}

/** Section `job_type`. Contract: C25–C27. */
export const checkJobType: CaseCheck = (item, suite) => {
  checkDecode(item, suite);
  const body = bodyOf(item, suite);
  const job = follow(JSON.parse(new TextDecoder().decode(body)), "/job");
  if (item.value["valid"] !== true || !job.found || typeof job.value === "string") return;
  const named = pointers(decodeBoth(body)).filter((pointer) => pointer === "/job");
  assert.equal(named.length, 1, "not exactly one warning names /job");
};

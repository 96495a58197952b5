/** Worked cases on making, reading and writing an envelope. */

import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../core/codec.ts";
import type { Envelope } from "../../core/envelope.ts";
import { BabelQueueError, EnvelopeKeyError } from "../../core/errors.ts";
import { identityVerdict } from "../../core/identity.ts";
import { readEnvelope } from "../../core/reading.ts";
import { reemit } from "../../core/splice.ts";
import { test } from "../harness.ts";
import { bytes, text } from "./_decisions.ts";
import { B0, b0, B1, ID, META, poisonDeadLetter, poisonText, TR, U } from "./_vectors.ts";

/** The retry copy of a body. */
const again = (body: string): string => text(reemit(bytes(body), { attempts: 1 }));

/** Pointers of the warnings of a reading. */
const warned = (body: string): string[] =>
  readEnvelope(bytes(body)).verdict().warnings.map(({ pointer }) => pointer);

test("V025 integers are judged by their spelling", () => {
  const poison = [
    ...["4.0", "3E1", '"2"', "10000000000000000000"].map((n) =>
      b0({ attempts: `"attempts":${n}` })
    ),
    b0({ meta: META.replace("1760000000123", "1.76e12") }),
    b0({ meta: META.replace('"schema_version":1', '"schema_version":1E0') }),
  ];
  for (const body of poison) assert.equal(identityVerdict(body).verdict, "poison", body);
  for (const n of ["-0", "-7", "9223372036854775807"]) {
    const verdict = readEnvelope(b0({ attempts: `"attempts":${n}` })).verdict();
    assert.deepEqual([verdict.verdict, verdict.versionSupported], ["ok", true], n);
  }
});

test("V026 what an incomplete body lacks is named, and a retry copy changes attempts only", () => {
  const body = b0({ trace: "", data: '"data":null', meta: "" });
  const verdict = readEnvelope(body).verdict();
  assert.equal(verdict.verdict, "ok");
  assert.deepEqual([verdict.data, verdict.meta, verdict.envelopeAttempts], [null, {}, 0]);
  for (const member of ["trace_id", "data", "meta"]) {
    assert.ok(verdict.missing.includes(member), member);
  }
  assert.equal(readEnvelope(body).traceId, null);
  assert.equal(again(body), body.replace('"attempts":0', '"attempts":1'));
});

test("V028 the alias stands in for a job that is none, and is never written again", () => {
  const folded = b0({ job: `"job":7,"urn":"${U}"` });
  assert.equal(readEnvelope(folded).urn, U);
  assert.deepEqual(warned(folded), ["/job"]);
  assert.ok(again(folded).startsWith(`{"job":"${U}",`));
  assert.equal(again(folded), B1);

  const blank = b0({ job: `"job":" \\r","urn":"${U}"` });
  assert.equal(readEnvelope(blank).urn, U);
  assert.deepEqual(warned(blank), []);
  assert.equal(again(blank), B1);

  const beside = b0({ job: `"job":"${U}","urn":" "` });
  assert.equal(readEnvelope(beside).urn, U);
  assert.deepEqual(warned(beside), ["/urn"]);
  assert.equal(again(beside), B1);
});

test("V029 every occurrence of a member must be well typed, and the last one counts", () => {
  const twice = (first: string, rest: string): string => B0.replace("{", `{${first},`) + rest;
  const verdict = (body: string): string => readEnvelope(body).verdict().verdict;
  assert.equal(verdict(twice('"attempts":"1"', "")), "poison");
  assert.equal(verdict(twice('"data":[1]', "")), "poison");
  const data = readEnvelope(twice('"data":{"a":1}', "")).verdict();
  assert.deepEqual([data.verdict, data.data], ["ok", { id: 7, tags: [] }]);
  const identity = readEnvelope(b0({ job: `"job":{},"job":"${U}"` }));
  assert.deepEqual([identity.verdict().verdict, identity.urn], ["ok", U]);
  assert.notEqual(verdict(b0({ job: `"job":"${U}","job":{}` })), "ok");
});

test("V030 a number must be a finite double inside data only", () => {
  const long = "9".repeat(400);
  for (const token of ["-2e999", long]) {
    const inside = b0({ data: `"data":{"a":[{"n":${token}}]}` });
    assert.equal(identityVerdict(inside).verdict, "poison", token);
    assert.ok(poisonText(inside).includes(token), token);
    const outside = b0({
      meta: META.replace("}", `,"x":${token}}`),
      attempts: `"attempts":0,"x":${token}`,
    });
    assert.equal(identityVerdict(outside).verdict, "ok", token);
    assert.equal(again(outside), outside.replace('"attempts":0', '"attempts":1'));
  }
  assert.equal(identityVerdict(b0({ data: '"data":{"n":3e-999}' })).verdict, "ok");
});

test("V031 a thousand levels are read, one more is wrapped, ten million are no trouble", () => {
  const nested = (lists: number): string =>
    `{"job":"${U}","data":{"a":${"[".repeat(lists)}${"]".repeat(lists)}}}`;
  assert.equal(identityVerdict(nested(998)).verdict, "ok");
  const deep = nested(999);
  assert.equal(identityVerdict(deep).verdict, "poison");
  assert.equal(poisonText(deep), `{"raw":${JSON.stringify(deep)},${poisonDeadLetter()}}`);
  const flood = bytes("[".repeat(10_000_000));
  assert.equal(identityVerdict(flood).verdict, "poison");
  assert.equal(poisonText(flood).length, 10_000_000 + poisonText("").length);
});

test("V036 make trims six characters, of the URN and of the trace id", () => {
  const made = (urn: string): string => EnvelopeCodec.make(urn, {}).job;
  assert.equal(made("\f urn:babel:a:b\v"), "urn:babel:a:b");
  for (const urn of ["\u2003urn:babel:a:b", "\ufeffurn:babel:a:b"]) assert.equal(made(urn), urn);
  assert.throws(() => EnvelopeCodec.make(" \r\n", {}), BabelQueueError);
  assert.equal(EnvelopeCodec.make("u", {}, { traceId: " t1\t" }).trace_id, "t1");
});

test("V037 encode names the first offending member and writes nothing", () => {
  const refused = (members: object, meta: object): string => {
    const envelope = { ...JSON.parse(B0), ...members };
    Object.assign(envelope.meta, meta);
    let pointer = "";
    assert.throws(() => EnvelopeCodec.encode(envelope as Envelope), (error) => {
      assert.ok(error instanceof EnvelopeKeyError);
      pointer = error.pointer;
      return true;
    });
    return pointer;
  };
  assert.equal(refused({ urn: U, timestamp: 1 }, { ts: 1 }), "/timestamp");
  assert.equal(refused({ urn: U }, { ts: 1 }), "/meta/ts");
  assert.equal(refused({ urn: U }, {}), "/urn");
});

test("the shared body is what this library makes, but for the language", () => {
  const made = EnvelopeCodec.make(U, { id: 7, tags: [] }, {
    queue: "shop",
    traceId: TR,
    now: 1_760_000_000_123,
  });
  const encoded = EnvelopeCodec.encode(made);
  assert.equal(encoded.replace(made.meta.id, ID).replace('"lang":"node"', '"lang":"go"'), B0);
});

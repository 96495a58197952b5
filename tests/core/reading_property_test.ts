import assert from "node:assert/strict";
import fc from "fast-check";
import { readEnvelope } from "../../core/reading.ts";
import type { BodyVerdict, EnvelopeReading } from "../../core/reading.ts";
import { test } from "../harness.ts";
import { canonical, documents } from "./_documents.ts";
import { reference } from "./_reference.ts";

const encoder = new TextEncoder();

function routeOf(reading: EnvelopeReading): object {
  const { urn, traceId, messageId, metaQueue, attempts } = reading;
  return { urn, traceId, messageId, metaQueue, attempts };
}

/** Everything but what says how the body was read. */
function factsOf(verdict: BodyVerdict): object {
  const { cause, data, meta, envelopeAttempts, missing, versionSupported } = verdict;
  return {
    verdict: verdict.verdict,
    cause,
    data,
    meta,
    envelopeAttempts,
    missing,
    versionSupported,
    inexactIntegers: verdict.inexactIntegers,
    warnings: verdict.warnings,
    envelope: verdict.envelope(),
  };
}

/** Whether the engine's own parser takes a text for one object. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function check(text: string): void {
  const reading = readEnvelope(text);
  const before = routeOf(reading);
  const verdict = reading.verdict();
  const expected = reference(text);
  assert.equal(expected !== null, isObject(text) && text.isWellFormed(), text);
  if (expected === null) {
    assert.notEqual(verdict.verdict, "ok", text);
    assert.equal(reading.urn, "");
  } else {
    const { verdict: name, inexactIntegers, ...route } = expected;
    assert.equal(verdict.verdict, name, text);
    assert.deepEqual(routeOf(reading), route, text);
    if (name === "ok") {
      assert.deepEqual(verdict.envelope()["data"] ?? null, verdict.data);
      assert.equal(verdict.inexactIntegers, inexactIntegers, text);
      assert.deepEqual(verdict.data, JSON.parse(text).data ?? null, text);
      if (verdict.canonical) assert.deepEqual(before, route, text);
    }
  }
  // White space ahead of it is enough to keep the anchored reader away.
  const long = readEnvelope(` ${text}`).verdict();
  assert.equal(long.canonical, false);
  assert.deepEqual(factsOf(verdict), factsOf(long), text);
  if (!text.isWellFormed()) return;
  const fromBytes = readEnvelope(encoder.encode(text));
  assert.deepEqual(routeOf(fromBytes), before, text);
  assert.deepEqual(factsOf(fromBytes.verdict()), factsOf(verdict), text);
  assert.deepEqual(routeOf(fromBytes), routeOf(reading), text);
}

test("readEnvelope() agrees with a simple reader and with itself on misleading documents", () => {
  fc.assert(fc.property(documents, check), { numRuns: 4000 });
});

test("readEnvelope() agrees with itself on every prefix of a body", () => {
  const body = canonical('{"a":[1,{"b":"c\\"}"}],"d":1.5e3}');
  for (let length = 0; length <= body.length; length++) check(body.slice(0, length));
});

const FLIPPED: readonly string[] = [
  canonical('{"n":"\u00e9","m":12}'),
  '{"urn":"u","d\\u0061ta":{"job":"x","n":[1.5e3,null]},"meta":{"id":"\u00e9","schema_version":1},' +
  '"attempts":3,"attempts":4,"dead_letter":null}',
];

test("readEnvelope() agrees with a simple reader and with itself on a body with any bit flipped", () => {
  for (const body of FLIPPED.map((text) => encoder.encode(text))) {
    for (const [at, byte] of body.entries()) {
      for (const mask of [1, 2, 4, 8, 16, 32, 64, 128, 255]) {
        const flipped = body.with(at, byte ^ mask);
        const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(flipped);
        if (text.includes("\ufffd")) {
          const { verdict } = readEnvelope(flipped).verdict();
          assert.equal(verdict, "poison", text);
        } else check(text);
      }
    }
  }
});

test("readEnvelope() never throws, whatever the bytes", () => {
  const anyBytes = fc.oneof(
    fc.uint8Array({ maxLength: 64 }),
    fc.tuple(fc.uint8Array({ maxLength: 8 }), documents, fc.uint8Array({ maxLength: 8 })).map(
      ([before, text, after]) => Uint8Array.from([...before, ...encoder.encode(text), ...after]),
    ),
    fc.string({ unit: "binary" }),
  );
  fc.assert(
    fc.property(anyBytes, fc.boolean(), (body, bigint) => {
      const reading = readEnvelope(body, { bigint });
      assert.equal(typeof reading.urn, "string");
      assert(["ok", "no_identity", "poison"].includes(reading.verdict().verdict));
      assert.equal(typeof reading.verdict().inexactIntegers, "boolean");
      assert.equal(typeof reading.verdict().envelope(), "object");
    }),
    { numRuns: 2000 },
  );
});

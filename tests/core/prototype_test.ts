import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../core/codec.ts";
import { annotate } from "../../core/dead_letter.ts";
import { encodeNew } from "../../core/encode.ts";
import { mergeHeaders, recordHeaders, sanitizeHeaders } from "../../core/headers.ts";
import { readEnvelope } from "../../core/reading.ts";
import { test } from "../harness.ts";

const TRAP = "__proto__";

/**
 * Runs with the accessor `Object.prototype.__proto__` in place. Deno takes it away, and without it an
 * assignment to that name is as harmless as to any other: a test would see nothing there.
 */
function withAccessor(run: () => void): void {
  const before = Object.getOwnPropertyDescriptor(Object.prototype, TRAP);
  Object.defineProperty(Object.prototype, TRAP, {
    configurable: true,
    enumerable: false,
    get(this: object): unknown {
      return Object.getPrototypeOf(this);
    },
    set(this: object, prototype: object | null): void {
      if (typeof prototype === "object") Object.setPrototypeOf(this, prototype);
    },
  });
  try {
    const probe: Record<string, unknown> = {};
    probe[TRAP] = { seen: true };
    assert.equal(probe["seen"], true, "the accessor works");
    run();
  } finally {
    if (before) Object.defineProperty(Object.prototype, TRAP, before);
    else delete (Object.prototype as unknown as Record<string, unknown>)[TRAP];
  }
}

/** The value of the own member, which has to be there, on an object of the usual prototype. */
function trapOf(object: unknown, prototype: object | null = Object.prototype): unknown {
  assert.ok(typeof object === "object" && object !== null);
  assert.equal(Object.getPrototypeOf(object), prototype);
  const found = Object.getOwnPropertyDescriptor(object, TRAP);
  assert.ok(found, "the member is an own one");
  return found.value;
}

const BODY = `{"job":"u","trace_id":"t","data":{"${TRAP}":{"a":1},"n":12345678901234567890},` +
  `"meta":{"id":"i","schema_version":1,"${TRAP}":{"b":2}},"attempts":0,"${TRAP}":{"c":3}}`;

for (const [what, accessor] of [["with", true], ["without", false]] as const) {
  const at = (name: string, run: () => void): void =>
    test(`a member named __proto__ ${name}, ${what} the accessor of that name`, () =>
      accessor ? withAccessor(run) : run());

  at("stays a member when a body is read", () => {
    const folded = BODY.replace('"job":"u"', '"job":"u","urn":"x","timestamp":1')
      .replace('"id":"i"', '"id":"i","ts":1');
    for (const body of [BODY, folded]) {
      for (const bigint of [false, true]) {
        const verdict = readEnvelope(body, { bigint }).verdict();
        assert.equal(verdict.verdict, "ok");
        assert.deepEqual(trapOf(verdict.envelope()), { c: 3 });
        assert.deepEqual(trapOf(verdict.data), { a: 1 });
        assert.deepEqual(trapOf(verdict.meta), { b: 2 });
        const decoded = EnvelopeCodec.decode(body, { bigint });
        assert.deepEqual(trapOf(decoded), { c: 3 });
        assert.deepEqual(trapOf(decoded["meta"]), { b: 2 });
      }
    }
  });

  at("stays a member when an envelope is made, annotated and written", () => {
    const odd = (): Record<string, unknown> => JSON.parse(`{"${TRAP}":{"a":1}}`);
    const made = EnvelopeCodec.make("u", odd(), { meta: odd() });
    assert.deepEqual([trapOf(made.data), trapOf(made.meta)], [{ a: 1 }, { a: 1 }]);
    const { text } = encodeNew("u", odd(), { queue: "q", nowMs: 1, meta: odd() });
    for (const written of [text, EnvelopeCodec.encode(made)]) {
      assert.equal(written.split(`"${TRAP}":{"a":1}`).length, 3, written);
    }
    const record = annotate({ ...EnvelopeCodec.decode(BODY) }, "failed", "q");
    assert.deepEqual(trapOf(record), { c: 3 });
    assert.ok(EnvelopeCodec.encode(record).includes(`"${TRAP}":{"c":3}`));
    const own = JSON.parse(`{"${TRAP}":{"a":1},"job":"u"}`);
    own.toJSON = (): object => JSON.parse(`{"${TRAP}":{"a":1},"job":"u"}`);
    own.meta = { toJSON: odd };
    assert.equal(EnvelopeCodec.encode(own), `{"${TRAP}":{"a":1},"job":"u"}`);
    delete own.toJSON;
    assert.equal(
      EnvelopeCodec.encode(own),
      `{"${TRAP}":{"a":1},"job":"u","meta":{"${TRAP}":{"a":1}}}`,
    );
  });

  at("stays a header", () => {
    const given = JSON.parse(`{"${TRAP}":"x","bq-replay-bypass":"1","tenant":"7"}`);
    const clean = sanitizeHeaders(given);
    assert.equal(trapOf(clean, null), "x");
    assert.equal(trapOf(mergeHeaders(given, { job: "u" }), null), "x");
    assert.equal(trapOf(recordHeaders(clean), null), "x");
  });
}

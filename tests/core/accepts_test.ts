import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../core/codec.ts";
import { test } from "../harness.ts";

const GOOD = {
  job: "urn:babel:shop:paid",
  trace_id: "t",
  data: {},
  meta: { schema_version: 1 },
  attempts: 0,
};

test("EnvelopeCodec.urn() gives a valid job, else a valid urn, else nothing", () => {
  assert.equal(EnvelopeCodec.urn({ job: "j", urn: "u" }), "j");
  assert.equal(EnvelopeCodec.urn({ job: " j " }), " j ");
  assert.equal(EnvelopeCodec.urn({ job: " ", urn: "u" }), "u");
  assert.equal(EnvelopeCodec.urn({ job: 7, urn: "u" }), "u");
  assert.equal(EnvelopeCodec.urn({ job: "", urn: "\t" }), "");
  for (const odd of [null, undefined, 7, "job", [], Object.create({ job: "j" }), new Map()]) {
    assert.equal(EnvelopeCodec.urn(odd), "");
  }
});

test("EnvelopeCodec.accepts() takes a complete envelope, whatever else is in it", () => {
  const envelopes = [
    GOOD,
    { ...GOOD, attempts: -1 },
    { ...GOOD, attempts: 1.0 },
    { ...GOOD, trace_id: "\u00a0" },
    { ...GOOD, x: 1, meta: { schema_version: 1, id: 7, queue: null, lang: [], created_at: "x" } },
    { ...GOOD, job: undefined, urn: "u" },
    { ...GOOD, dead_letter: "odd" },
  ];
  for (const envelope of envelopes) {
    assert(EnvelopeCodec.accepts(envelope));
    assert.equal(EnvelopeCodec.reject(envelope), null);
  }
});

test("EnvelopeCodec.reject() names the first thing that is missing or wrong", () => {
  const rows: [object, string][] = [
    [{ ...GOOD, job: " " }, "missing_urn"],
    [{}, "missing_urn"],
    [{ job: "u" }, "missing_meta"],
    [{ ...GOOD, meta: null }, "missing_meta"],
    [{ ...GOOD, meta: [] }, "missing_meta"],
    [{ ...GOOD, meta: {}, data: [] }, "unsupported_schema_version"],
    [{ ...GOOD, meta: { schema_version: 2 } }, "unsupported_schema_version"],
    [{ ...GOOD, meta: { schema_version: true } }, "unsupported_schema_version"],
    [{ ...GOOD, meta: { schema_version: "1" } }, "unsupported_schema_version"],
    [{ ...GOOD, data: [], trace_id: "" }, "invalid_data"],
    [{ ...GOOD, data: null }, "invalid_data"],
    [{ ...GOOD, data: "{}" }, "invalid_data"],
    [{ ...GOOD, trace_id: " \t\n\v\f\r", attempts: "0" }, "missing_trace_id"],
    [{ ...GOOD, trace_id: 7 }, "missing_trace_id"],
    [{ ...GOOD, attempts: 1.5 }, "invalid_attempts"],
    [{ ...GOOD, attempts: "1" }, "invalid_attempts"],
    [{ ...GOOD, attempts: true }, "invalid_attempts"],
    [{ ...GOOD, attempts: undefined }, "invalid_attempts"],
  ];
  for (const [envelope, reason] of rows) {
    assert.equal(EnvelopeCodec.reject(envelope), reason, JSON.stringify(envelope));
    assert(!EnvelopeCodec.accepts(envelope));
  }
  for (const odd of [null, undefined, 7, "x", []]) assert(!EnvelopeCodec.accepts(odd));
});

test("EnvelopeCodec has the members that the other SDKs have, and cannot be changed", () => {
  for (const name of ["make", "fromMessage", "encode", "decode", "urn", "accepts"]) {
    assert.equal(typeof (EnvelopeCodec as unknown as Record<string, unknown>)[name], "function");
  }
  assert(Object.isFrozen(EnvelopeCodec));
});

test("nothing makes EnvelopeCodec.urn(), accepts() and reject() throw", () => {
  const broken = (): never => {
    throw new Error("not for you");
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const odd = [
    Object.defineProperty({}, "job", { get: broken }),
    Object.defineProperty({ job: "j" }, "meta", { get: broken }),
    { job: "j", meta: Object.defineProperty({}, "schema_version", { get: broken }) },
    { job: "j", meta: revoked.proxy },
    new Proxy({}, { getOwnPropertyDescriptor: broken, get: broken, has: broken }),
    revoked.proxy,
    { ...GOOD, data: revoked.proxy },
  ];
  for (const envelope of odd) {
    assert.equal(EnvelopeCodec.accepts(envelope), false);
    assert.equal(EnvelopeCodec.reject(envelope), "missing_urn");
    assert.equal(typeof EnvelopeCodec.urn(envelope), "string");
  }
});

import assert from "node:assert/strict";
import { EnvelopeCodec, SCHEMA_VERSION, SOURCE_LANG } from "../../core/codec.ts";
import { EncodeMemo, encodeNew } from "../../core/encode.ts";
import type { PolyglotMessage } from "../../core/polyglot_message.ts";
import { test } from "../harness.ts";

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test("EnvelopeCodec.make() gives the members of the contract in their order", () => {
  const envelope = EnvelopeCodec.make("urn:babel:shop:paid", { id: 7 }, { now: 1760000000123.9 });
  assert.deepEqual(Object.keys(envelope), ["job", "trace_id", "data", "meta", "attempts"]);
  assert.deepEqual(Object.keys(envelope.meta), [
    "id",
    "queue",
    "lang",
    "schema_version",
    "created_at",
  ]);
  const { trace_id, meta } = envelope;
  assert.match(trace_id, UUID_V4);
  assert.match(meta.id, UUID_V4);
  assert.notEqual(trace_id, meta.id);
  assert.deepEqual(envelope, {
    job: "urn:babel:shop:paid",
    trace_id,
    data: { id: 7 },
    meta: {
      id: meta.id,
      queue: "default",
      lang: "node",
      schema_version: 1,
      created_at: 1760000000123,
    },
    attempts: 0,
  });
  assert.deepEqual([SCHEMA_VERSION, EnvelopeCodec.SCHEMA_VERSION], [1, 1]);
  assert.deepEqual([SOURCE_LANG, EnvelopeCodec.SOURCE_LANG], ["node", "node"]);
});

test("EnvelopeCodec.make() takes the time from the clock and the ids from newId", () => {
  const before = Date.now();
  const created = EnvelopeCodec.make("u", {}).meta.created_at;
  assert(Number.isInteger(created) && created >= before && created <= Date.now());
  let next = 0;
  const made = EnvelopeCodec.make("u", {}, { newId: () => `id-${++next}` });
  assert.deepEqual([made.trace_id, made.meta.id], ["id-1", "id-2"]);
});

test("EnvelopeCodec.make() trims URN and trace id by six characters only", () => {
  const job = (urn: string): string => EnvelopeCodec.make(urn, {}).job;
  assert.equal(job("\f urn:babel:a:b\v"), "urn:babel:a:b");
  assert.equal(job("\u2003urn:babel:a:b"), "\u2003urn:babel:a:b");
  assert.equal(job("\ufeff"), "\ufeff");
  assert.equal(job("any text, no pattern"), "any text, no pattern");
  const trace = (traceId: string | null): string =>
    EnvelopeCodec.make("u", {}, { traceId }).trace_id;
  assert.equal(trace(" t1\t"), "t1");
  assert.equal(trace("\u00a0"), "\u00a0");
  assert.match(trace(" \r\n"), UUID_V4);
  assert.match(trace(null), UUID_V4);
});

test("EnvelopeCodec.make() refuses an empty URN", () => {
  for (const urn of ["", " \t\n\v\f\r", undefined, null, 7]) {
    assert.throws(() => EnvelopeCodec.make(urn as string, {}), {
      name: "BabelQueueError",
      code: "invalid_envelope",
    });
  }
});

test("EnvelopeCodec.make() names the default queue for an empty one", () => {
  assert.equal(EnvelopeCodec.make("u", {}, { queue: "" }).meta.queue, "default");
  assert.equal(EnvelopeCodec.make("u", {}, { queue: "orders" }).meta.queue, "orders");
});

test("EnvelopeCodec.make() refuses a queue and a trace id that are no string, by name and value", () => {
  const rows: readonly (readonly [unknown, string])[] = [
    [5, "5"],
    [0, "0"],
    [7n, "7"],
    [true, "true"],
    [Symbol("s"), "Symbol(s)"],
    [{}, "of type object"],
    [() => {}, "of type function"],
    [["q"], "an array"],
    [Object.create(null), "of type object"],
  ];
  for (const name of ["queue", "traceId"] as const) {
    for (const [value, told] of rows) {
      const refused = {
        code: "invalid_envelope",
        message: `Cannot make an envelope: '${name}' is ${told}, and must be a string`,
      };
      const options = { [name]: value } as object;
      assert.throws(() => EnvelopeCodec.make("u", {}, options), refused);
      const fresh = { queue: "q", nowMs: 1, ...options };
      assert.throws(() => encodeNew("u", {}, fresh), refused);
      const memo = new EncodeMemo();
      for (let round = 0; round < 2; round++) {
        assert.throws(() => encodeNew("u", {}, { ...fresh, memo }), refused);
      }
    }
  }
  const message = { getBabelUrn: () => "u", toPayload: () => ({}), getBabelTraceId: () => 5 };
  assert.throws(() => EnvelopeCodec.fromMessage(message as never), { code: "invalid_envelope" });
  for (const none of [undefined, null]) {
    const made = EnvelopeCodec.make("u", {}, { queue: none as never, traceId: none });
    assert.equal(made.meta.queue, "default");
    assert.match(made.trace_id, /^[0-9a-f]{8}-/);
  }
});

test("EnvelopeCodec.make() copies the top level of data", () => {
  const data = { a: 1, inner: { b: 2 } };
  const envelope = EnvelopeCodec.make("u", data);
  data.a = 5;
  assert.deepEqual(envelope.data, { a: 1, inner: { b: 2 } });
  const odd = JSON.parse('{"__proto__":{"x":1},"constructor":2}');
  const copy = EnvelopeCodec.make("u", odd).data;
  assert.deepEqual(Object.keys(copy), ["__proto__", "constructor"]);
  assert.equal(Object.getPrototypeOf(copy), Object.prototype);
});

test("EnvelopeCodec.make() takes no data for an empty object, and nothing but an object", () => {
  assert.deepEqual(EnvelopeCodec.make("u", null).data, {});
  assert.deepEqual(EnvelopeCodec.make("u", undefined).data, {});
  const dated = { at: new Date(0), toJSON: (): object => ({ at: 0 }) };
  assert.deepEqual(EnvelopeCodec.make("u", dated).data, { at: 0 });
  for (const data of [[], [1], "x", 7, true, () => {}, new Date(0)]) {
    assert.throws(() => EnvelopeCodec.make("u", data as object), { code: "invalid_data" });
  }
});

test("EnvelopeCodec.make() refuses data that JSON would lose, and names the place", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = [cycle];
  const rows: [object, string][] = [
    [{ a: { "b/c": [1, Number.NaN] } }, "/data/a/b~1c/1"],
    [{ "~": -Infinity }, "/data/~0"],
    [{ a: [undefined] }, "/data/a/0"],
    [{ a: [1, , 3] }, "/data/a/1"],
    [{ a: [() => {}] }, "/data/a/0"],
    [{ a: [Symbol("s")] }, "/data/a/0"],
    [cycle, "/data/self/0"],
    [{ a: 10n ** 400n }, "/data/a"],
    [{ a: { toJSON: () => Number.NaN } }, "/data/a"],
    [{ a: new Number(Infinity) }, "/data/a"],
  ];
  for (const [data, pointer] of rows) {
    assert.throws(() => EnvelopeCodec.make("u", data), (error: Error & { code?: string }) => {
      assert.equal(error.code, "invalid_data");
      assert(error.message.startsWith(`Cannot encode ${pointer}: `), error.message);
      return true;
    });
  }
});

test("EnvelopeCodec.make() puts extensions behind the core members of meta", () => {
  const ext = { acme: { tier: "gold" } };
  const { meta } = EnvelopeCodec.make("u", {}, { meta: { ext, flag: true } });
  assert.deepEqual(Object.keys(meta).slice(5), ["ext", "flag"]);
  assert.equal(meta["ext"], ext);
});

test("EnvelopeCodec.make() refuses an extension named like a member of the contract", () => {
  const names = [
    "id",
    "queue",
    "lang",
    "schema_version",
    "created_at",
    "max_retries",
    "attempts",
    "source",
    "ts",
  ];
  for (const name of names) {
    assert.throws(() => EnvelopeCodec.make("u", {}, { meta: { [name]: 1 } }), {
      name: "EnvelopeKeyError",
      code: "envelope_key",
      pointer: `/meta/${name}`,
    });
  }
  assert.equal(EnvelopeCodec.make("u", {}, { meta: { TS: 1 } }).meta["TS"], 1);
});

test("EnvelopeCodec.make() refuses extensions that JSON would lose, and names the place", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const rows: [Record<string, unknown>, string][] = [
    [{ x: Number.NaN }, "/meta/x"],
    [{ ext: { acme: [1, Infinity] } }, "/meta/ext/acme/1"],
    [{ ext: [undefined] }, "/meta/ext/0"],
    [{ ext: cycle }, "/meta/ext/self"],
    [[] as unknown as Record<string, unknown>, "/meta"],
    [{ toJSON: () => 7 }, "/meta"],
  ];
  for (const [meta, pointer] of rows) {
    assert.throws(() => EnvelopeCodec.make("u", {}, { meta }), (error: Error) => {
      assert.equal((error as { code?: string }).code, "invalid_data", pointer);
      assert(error.message.startsWith(`Cannot encode ${pointer}: `), error.message);
      return true;
    });
  }
});

test("EnvelopeCodec.make() judges extensions as they are written, toJSON included", () => {
  class Ext {
    toJSON(): object {
      return { id: "mine" };
    }
  }
  for (const meta of [new Ext(), { toJSON: () => ({ id: "mine" }) }]) {
    assert.throws(() => EnvelopeCodec.make("u", {}, { meta: meta as object as { x: 1 } }), {
      name: "EnvelopeKeyError",
      pointer: "/meta/id",
    });
  }
  const good = { id: "hidden", toJSON: () => ({ ext: 1 }) };
  const { meta } = EnvelopeCodec.make("u", {}, { meta: good });
  assert.deepEqual(Object.keys(meta).slice(5), ["ext"]);
  assert.notEqual(meta.id, "hidden");
});

test("EnvelopeCodec.fromMessage() asks the message", () => {
  class Paid implements PolyglotMessage {
    getBabelUrn(): string {
      return " urn:babel:shop:paid";
    }
    toPayload(): object {
      return { id: 7 };
    }
  }
  const plain = EnvelopeCodec.fromMessage(new Paid());
  assert.equal(plain.job, "urn:babel:shop:paid");
  assert.equal(plain.meta.queue, "default");
  assert.deepEqual(plain.data, { id: 7 });
  assert.match(plain.trace_id, UUID_V4);
  const traced = (id: string | null | undefined): string =>
    EnvelopeCodec.fromMessage(Object.assign(new Paid(), { getBabelTraceId: () => id }), "shop")
      .trace_id;
  assert.equal(traced("t1 "), "t1");
  for (const none of [null, undefined, " "]) assert.match(traced(none), UUID_V4);
});

test("EnvelopeCodec.fromMessage() refuses what is no message", () => {
  for (const odd of [null, undefined, 5, {}, { getBabelUrn: () => "u" }]) {
    assert.throws(() => EnvelopeCodec.fromMessage(odd as never), { code: "invalid_envelope" });
  }
});

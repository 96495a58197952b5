import assert from "node:assert/strict";
import fc from "fast-check";
import { EnvelopeCodec } from "../../core/codec.ts";
import { EncodeMemo, encodeNew } from "../../core/encode.ts";
import type { Envelope } from "../../core/envelope.ts";
import { readEnvelope } from "../../core/reading.ts";
import { test } from "../harness.ts";

const decoder = new TextDecoder();

function counter(): () => string {
  let next = 0;
  return () => `id-${++next}`;
}

test("EnvelopeCodec.encode() is compact and escapes only what JSON demands", () => {
  const text = 'a/b<>&\u2028\u00e9\u{1f600}\u007f\u0001"\\\n';
  const envelope = EnvelopeCodec.make("u", { text }, { now: 1, newId: counter() });
  assert.equal(
    EnvelopeCodec.encode(envelope),
    '{"job":"u","trace_id":"id-1","data":{"text":"a/b<>&\u2028\u00e9\u{1f600}\u007f\\u0001' +
      '\\"\\\\\\n"},"meta":{"id":"id-2","queue":"default","lang":"node","schema_version":1,' +
      '"created_at":1},"attempts":0}',
  );
});

test("EnvelopeCodec.encode() writes numbers as JavaScript does, and bigints as literals", () => {
  const data = { a: 1.0, b: 1e21, c: 1e-7, d: -0, e: 12345678901234567890n, f: -5n, g: null };
  const text = EnvelopeCodec.encode(EnvelopeCodec.make("u", data));
  assert(text.includes(
    '"data":{"a":1,"b":1e+21,"c":1e-7,"d":0,"e":12345678901234567890,"f":-5,"g":null}',
  ));
  const read = readEnvelope(text, { bigint: true }).verdict();
  assert.deepEqual(read.data, {
    a: 1,
    b: 1e21,
    c: 1e-7,
    d: 0,
    e: 12345678901234567890n,
    f: -5,
    g: null,
  });
});

test("EnvelopeCodec.encode() drops members that JSON has no value for", () => {
  const data = { a: undefined, b: () => {}, c: Symbol("s"), d: 1, e: [null] };
  const text = EnvelopeCodec.encode(EnvelopeCodec.make("u", data));
  assert(text.includes('"data":{"d":1,"e":[null]}'));
});

test("EnvelopeCodec.encode() writes empty data as {}", () => {
  assert(EnvelopeCodec.encode(EnvelopeCodec.make("u", {})).includes('"data":{},'));
});

test("EnvelopeCodec.encode() refuses forbidden members in a fixed order", () => {
  const base = EnvelopeCodec.make("u", {});
  const all = {
    ...base,
    urn: "u",
    timestamp: 1,
    meta: { ...base.meta, ts: 1, source: 1, attempts: 1, max_retries: 1 },
  };
  const order = [
    "/timestamp",
    "/meta/max_retries",
    "/meta/attempts",
    "/meta/source",
    "/meta/ts",
    "/urn",
  ];
  const left: { [member: string]: unknown; meta: Record<string, unknown> } = all;
  for (const pointer of order) {
    assert.throws(() => EnvelopeCodec.encode(left), {
      name: "EnvelopeKeyError",
      code: "envelope_key",
      pointer,
    });
    const [, outer = "", inner] = pointer.split("/");
    if (inner === undefined) delete left[outer];
    else delete left.meta[inner];
  }
  assert.equal(typeof EnvelopeCodec.encode(left), "string");
});

test("EnvelopeCodec.encode() refuses what JSON would lose, wherever it stands", () => {
  const base = EnvelopeCodec.make("u", {});
  const envelopes: [object, string][] = [
    [{ ...base, x: [Number.NaN] }, "/x/0"],
    [{ ...base, data: { n: Infinity } }, "/data/n"],
    [{ ...base, meta: { ...base.meta, ext: { n: Number.NaN } } }, "/meta/ext/n"],
  ];
  for (const [envelope, pointer] of envelopes) {
    assert.throws(() => EnvelopeCodec.encode(envelope as typeof base), (error: Error) => {
      assert(error.message.startsWith(`Cannot encode ${pointer}: `), error.message);
      return true;
    });
  }
  for (const none of [null, undefined, [], "x"]) {
    assert.throws(() => EnvelopeCodec.encode(none as unknown as typeof base), {
      code: "invalid_envelope",
    });
  }
});

test("EnvelopeCodec.encode() takes the same object twice, and looks at no prototype", () => {
  const shared = { a: [null] };
  const data = { x: shared, y: [shared, shared], n: 12345678901234567890n };
  const made = EnvelopeCodec.make("u", data);
  const text = EnvelopeCodec.encode(Object.assign(Object.create({ timestamp: 1, urn: "x" }), made));
  assert(
    text.includes('{"x":{"a":[null]},"y":[{"a":[null]},{"a":[null]}],"n":12345678901234567890}'),
  );
});

test("EnvelopeCodec.encode() passes on what a getter or toJSON throws, as the cause", () => {
  const cause = new Error("from toJSON");
  const data = {
    toJSON(): never {
      throw cause;
    },
  };
  assert.throws(() => EnvelopeCodec.encode({ job: "u", data }), (error: Error) => {
    assert.equal((error as { code?: string }).code, "invalid_data");
    assert.equal(error.cause, cause);
    return true;
  });
});

test("EnvelopeCodec.encode() refuses a forbidden member that only toJSON brings", () => {
  const { meta, ...base } = EnvelopeCodec.make("u", {});
  const rows: [object, string][] = [
    [{ toJSON: () => ({ ...base, meta, timestamp: 1 }) }, "/timestamp"],
    [{ toJSON: () => ({ ...base, meta, urn: "u" }) }, "/urn"],
    [{ ...base, meta: { toJSON: () => ({ ...meta, ts: 1 }) } }, "/meta/ts"],
    [
      { toJSON: () => ({ ...base, meta: { toJSON: () => ({ ...meta, source: 1 }) } }) },
      "/meta/source",
    ],
    [
      new class {
        toJSON(): object {
          return { ...base, meta: { ...meta, max_retries: 1 } };
        }
      }(),
      "/meta/max_retries",
    ],
  ];
  for (const [envelope, pointer] of rows) {
    assert.throws(() => EnvelopeCodec.encode(envelope as typeof base), {
      name: "EnvelopeKeyError",
      pointer,
    }, pointer);
  }
});

test("EnvelopeCodec.encode() writes what toJSON gives, asked once as by JSON.stringify", () => {
  const made = EnvelopeCodec.make("u", {});
  let asked = 0;
  const meta = {
    ts: "never written",
    toJSON(key: string): object {
      asked++;
      assert.equal(key, "meta");
      return made.meta;
    },
  };
  assert.equal(EnvelopeCodec.encode({ ...made, meta }), EnvelopeCodec.encode(made));
  assert.equal(asked, 1);
  const twice = { toJSON: () => ({ ...made, toJSON: () => ({ timestamp: 1 }) }) };
  assert.equal(JSON.stringify(twice), EnvelopeCodec.encode(made));
  assert.equal(EnvelopeCodec.encode(twice), EnvelopeCodec.encode(made));
  assert.equal(EnvelopeCodec.encode({ ...made, toJSON: "a text" }).includes('"a text"'), true);
  for (const nothing of [undefined, null, 7, []]) {
    assert.throws(() => EnvelopeCodec.encode({ toJSON: () => nothing }), {
      code: "invalid_envelope",
    });
  }
});

test("EnvelopeCodec.encodeBytes() is encode() in UTF-8", () => {
  const envelope = EnvelopeCodec.make("u", { text: "\u00e9\u{1f600}" });
  assert.equal(decoder.decode(EnvelopeCodec.encodeBytes(envelope)), EnvelopeCodec.encode(envelope));
});

test("encodeNew() writes the bytes that make() and encode() write", () => {
  const text = fc.string({ unit: "binary", minLength: 1 });
  // A name like "1" stands before all others in an object of JavaScript.
  const number = fc.nat({ max: 4_294_967_294 }).map(String);
  const key = fc.oneof({ weight: 4, arbitrary: fc.string() }, number);
  const data = fc.dictionary(key, fc.jsonValue());
  const meta = fc.option(
    fc.dictionary(
      fc.oneof({ weight: 4, arbitrary: fc.string({ minLength: 12 }) }, number),
      fc.jsonValue(),
    ),
    { nil: undefined },
  );
  const traceId = fc.option(text, { nil: undefined });
  fc.assert(
    fc.property(text, text, data, meta, traceId, (name, queue, payload, extension, trace) => {
      const urn = `u${name}`;
      const options = { queue, traceId: trace, meta: extension };
      const made = EnvelopeCodec.make(urn, payload, { ...options, now: 5, newId: counter() });
      const coded = encodeNew(urn, payload, { ...options, nowMs: 5, newId: counter() });
      assert.equal(coded.text, inOrder(made, extension));
      assert.equal(decoder.decode(coded.body), coded.text);
      assert.equal(coded.id, made.meta.id);
      assert.equal(coded.traceId, made.trace_id);
    }),
  );
});

/** What encode() writes, with extensions like "1" behind the core members of `meta`. */
function inOrder(made: Envelope, extension: object | undefined): string {
  const text = EnvelopeCodec.encode(made);
  const numbers = Object.entries(extension ?? {}).filter(([name]) =>
    String(Number(name) >>> 0) === name
  )
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`).join("");
  const core = '"created_at":5';
  const at = text.lastIndexOf(`"meta":{${numbers}"id":`) + '"meta":{'.length;
  if (numbers === "") return text;
  assert.ok(at > '"meta":{'.length, text);
  const moved = text.slice(0, at) + text.slice(at + numbers.length);
  const end = moved.indexOf(core, at) + core.length;
  return `${moved.slice(0, end)},${numbers.slice(0, -1)}${moved.slice(end)}`;
}

test("encodeNew() writes extensions behind the core members, whatever their names", () => {
  const options = { queue: "q", nowMs: 5, newId: counter(), meta: { z: 0, 1: 2 } };
  const { text } = encodeNew("u", {}, options);
  assert.ok(text.endsWith('"created_at":5,"1":2,"z":0},"attempts":0}'), text);
  const { meta } = options;
  const made = EnvelopeCodec.make("u", {}, { queue: "q", now: 5, newId: counter(), meta });
  assert.deepEqual(EnvelopeCodec.decode(text), made);
  assert.ok(EnvelopeCodec.encode(made).includes('"meta":{"1":2,"id":'));
});

test("encodeNew() mints its own ids and is read as canonical", () => {
  const first = encodeNew(" urn:babel:shop:paid", { id: 7 }, { queue: "shop", nowMs: 5.5 });
  const second = encodeNew("urn:babel:shop:paid", null, { queue: "", nowMs: 5 });
  assert.notEqual(first.id, second.id);
  assert.notEqual(first.traceId, second.traceId);
  const reading = readEnvelope(first.body);
  assert.deepEqual([reading.urn, reading.messageId, reading.traceId, reading.metaQueue], [
    "urn:babel:shop:paid",
    first.id,
    first.traceId,
    "shop",
  ]);
  assert(reading.verdict().canonical);
  assert.equal(readEnvelope(second.body).metaQueue, "default");
  assert.deepEqual(readEnvelope(second.body).verdict().data, {});
});

test("encodeNew() writes the same with what it remembers, whatever came before", () => {
  const memo = new EncodeMemo();
  const rows = [["a", "q"], ["a", "q"], ["b", "q"], ["a", "r"], ["a", ""], ["b", "r"]] as const;
  for (const [urn, queue] of rows) {
    const plain = { queue, nowMs: 1, newId: () => "id" };
    const { text } = encodeNew(urn, {}, { ...plain, memo });
    assert.equal(text, encodeNew(urn, {}, plain).text);
  }
  for (let round = 0; round < 2; round++) {
    assert.throws(() => encodeNew(" ", {}, { queue: "q", nowMs: 1, memo }), {
      code: "invalid_envelope",
    });
  }
});

test("encodeNew() escapes a trace id that it is given", () => {
  const { text, traceId } = encodeNew("u", {}, { queue: "q", nowMs: 1, traceId: ' a"b\\ ' });
  assert.equal(traceId, 'a"b\\');
  assert.equal(EnvelopeCodec.decode(text)["trace_id"], traceId);
});

test("encodeNew() refuses what make() refuses", () => {
  const options = { queue: "q", nowMs: 1 };
  assert.throws(() => encodeNew(" ", {}, options), { code: "invalid_envelope" });
  assert.throws(() => encodeNew("u", [], options), { code: "invalid_data" });
  assert.throws(() => encodeNew("u", { a: Number.NaN }, options), { code: "invalid_data" });
  assert.throws(() => encodeNew("u", {}, { ...options, meta: { ts: 1 } }), { pointer: "/meta/ts" });
  const hidden = { toJSON: () => ({ queue: "other" }) };
  assert.throws(() => encodeNew("u", {}, { ...options, meta: hidden }), { pointer: "/meta/queue" });
  assert.throws(() => encodeNew("u", {}, { ...options, meta: { x: Number.NaN } }), {
    message: /^Cannot encode \/meta\/x: /,
  });
});

import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../core/codec.ts";
import type { EnvelopeWarning } from "../../core/envelope.ts";
import { readEnvelope } from "../../core/reading.ts";
import { test } from "../harness.ts";

interface Decoded {
  readonly envelope: object;
  readonly warned: readonly string[];
}

function decode(body: string | Uint8Array): Decoded {
  const warned: string[] = [];
  const onWarning = ({ code, pointer }: EnvelopeWarning): void =>
    void warned.push(`${code} ${pointer}`);
  return { envelope: EnvelopeCodec.decode(body, { onWarning }), warned };
}

function lenient(body: string | Uint8Array): Decoded {
  const warned: string[] = [];
  const onWarning = ({ code, pointer }: EnvelopeWarning): void =>
    void warned.push(`${code} ${pointer}`);
  return { envelope: EnvelopeCodec.decodeLenient(body, { onWarning }), warned };
}

test("EnvelopeCodec.decode() gives an empty envelope for what is no JSON object", () => {
  const bodies = [
    "",
    " ",
    "null",
    "7",
    '"x"',
    "[]",
    "{",
    '{"job":"u"}x',
    '\ufeff{"job":"u"}',
    '{"job":"u","a":NaN}',
    `{"job":"u","a":${"[".repeat(1000)}${"]".repeat(1000)}}`,
    Uint8Array.from([0x7b, 0xff, 0x7d]),
  ];
  for (const body of bodies) {
    assert.deepEqual(decode(body), { envelope: {}, warned: [] });
    assert.deepEqual(lenient(body), { envelope: {}, warned: [] });
  }
});

test("EnvelopeCodec.decode() throws without an identity, decodeLenient() gives the object", () => {
  const bodies = [
    '{"x":1}',
    "{}",
    '{"job":""}',
    '{"job":" \\t"}',
    '{"job":"","urn":"\\n"}',
    '{"urn":5}',
    '{"JOB":"u","Urn":"u"}',
    '{"urn":["u"],"trace_id":"t"}',
  ];
  for (const body of bodies) {
    assert.throws(() => decode(body), { name: "BabelQueueError", code: "invalid_envelope" });
    const { envelope, warned } = lenient(body);
    assert.deepEqual(envelope, JSON.parse(body));
    assert.deepEqual(warned, []);
    assert.equal(EnvelopeCodec.urn(envelope), "");
    assert(!EnvelopeCodec.accepts(envelope));
  }
  assert.throws(() => decode('{"timestamp":1}'), { code: "invalid_envelope" });
  assert.deepEqual(lenient('{"job":5}'), { envelope: { job: 5 }, warned: ["job_ignored /job"] });
});

test("EnvelopeCodec.decode() folds urn into job, which stands first", () => {
  const rows: [string, object, string[]][] = [
    ['{"urn":"u"}', { job: "u" }, []],
    ['{"x":1,"urn":"u"}', { job: "u", x: 1 }, []],
    ['{"job":"","urn":"u"}', { job: "u" }, []],
    ['{"job":" \\t","urn":"u"}', { job: "u" }, []],
    ['{"job":"\\u00a0","urn":"u"}', { job: "\u00a0" }, ["urn_alias /urn"]],
    ['{"job":"j","urn":"u"}', { job: "j" }, ["urn_alias /urn"]],
    ['{"job":"j","urn":" "}', { job: "j" }, ["urn_alias /urn"]],
    ['{"job":"j","urn":{}}', { job: "j" }, ["urn_alias /urn"]],
    ['{"job":5,"urn":"u"}', { job: "u" }, ["job_ignored /job"]],
    ['{"job":null,"urn":" u "}', { job: " u " }, ["job_ignored /job"]],
    ['{"job":[],"urn":"u"}', { job: "u" }, ["job_ignored /job"]],
    ['{"job":" padded ","trace_id":" t "}', { job: " padded ", trace_id: " t " }, []],
  ];
  for (const [body, envelope, warned] of rows) {
    const decoded = decode(body);
    assert.deepEqual(decoded, { envelope, warned }, body);
    assert.equal(Object.keys(decoded.envelope)[0], "job");
  }
});

test("EnvelopeCodec.decode() removes forbidden members, each with a warning", () => {
  const body = '{"job":"u","timestamp":null,"meta":{"ts":1,"id":"x","source":{},"attempts":2,' +
    '"max_retries":3,"TS":4},"data":{"timestamp":1,"meta":{"ts":1}}}';
  const { envelope, warned } = decode(body);
  assert.deepEqual(envelope, {
    job: "u",
    meta: { id: "x", TS: 4 },
    data: { timestamp: 1, meta: { ts: 1 } },
  });
  assert.deepEqual([...warned].sort(), [
    "forbidden_key /meta/attempts",
    "forbidden_key /meta/max_retries",
    "forbidden_key /meta/source",
    "forbidden_key /meta/ts",
    "forbidden_key /timestamp",
  ]);
  assert.equal(typeof EnvelopeCodec.encode({ ...envelope }), "string");
});

test("EnvelopeCodec.decode() keeps unknown members, whatever their names", () => {
  const body = '{"x":[1],"job":"u","__proto__":{"a":1},"constructor":null,"meta":{"__proto__":2,' +
    '"ext":{"b":[]}},"urn":"gone"}';
  const { envelope } = decode(body);
  assert.deepEqual(Object.keys(envelope), ["x", "job", "__proto__", "constructor", "meta"]);
  assert.equal(Object.getPrototypeOf(envelope), Object.prototype);
  assert.equal(
    EnvelopeCodec.encode({ ...envelope }),
    '{"x":[1],"job":"u","__proto__":{"a":1},"constructor":null,"meta":{"__proto__":2,' +
      '"ext":{"b":[]}}}',
  );
});

test("EnvelopeCodec.decode() does not mind a wrongly typed member", () => {
  const body = '{"job":"u","trace_id":7,"data":[],"meta":"m","attempts":1.5}';
  assert.deepEqual(decode(body), { envelope: JSON.parse(body), warned: [] });
});

test("EnvelopeCodec.decode() takes bytes, white space, any order and the last of repeated members", () => {
  const body = ' { "attempts" : 2 , "job":"a","data":{"a":1},\n"job":"u","data":{"b":1} } ';
  const envelope = { attempts: 2, job: "u", data: { b: 1 } };
  assert.deepEqual(decode(body).envelope, envelope);
  assert.deepEqual(decode(new TextEncoder().encode(body)).envelope, envelope);
});

test("EnvelopeCodec.decode() gives long integers as bigint when asked to", () => {
  const body = '{"job":"u","data":{"n":12345678901234567890,"m":7},"x":12345678901234567890}';
  assert.deepEqual(EnvelopeCodec.decode(body, { bigint: true }), {
    job: "u",
    data: { n: 12345678901234567890n, m: 7 },
    x: 12345678901234567890,
  });
  assert.equal(
    (EnvelopeCodec.decode(body)["data"] as { n: unknown }).n,
    Number("12345678901234567890"),
  );
});

test("EnvelopeCodec.decode() rounds nothing where a member has a wrong type", () => {
  const data = '"data":{"n":12345678901234567890,"list":[-9007199254740993]}';
  const exact = { n: 12345678901234567890n, list: [-9007199254740993n] };
  const rest = [
    '"attempts":"3"',
    '"trace_id":7',
    '"meta":[]',
    '"dead_letter":1',
    '"meta":{"created_at":9223372036854775808}',
  ];
  for (const member of rest) {
    const body = `{"job":"u",${data},${member}}`;
    const { verdict, data: read } = readEnvelope(body, { bigint: true }).verdict();
    assert.deepEqual([verdict, read], ["poison", exact], member);
    for (const decode of [EnvelopeCodec.decode, EnvelopeCodec.decodeLenient]) {
      assert.deepEqual(decode(body, { bigint: true })["data"], exact, member);
    }
  }
  const list = '{"job":"u","data":[12345678901234567890,1e400]}';
  assert.deepEqual(EnvelopeCodec.decode(list, { bigint: true })["data"], [
    12345678901234567890n,
    Infinity,
  ]);
});

test("EnvelopeCodec.decode() and make() agree", () => {
  const made = EnvelopeCodec.make("urn:babel:shop:paid", { id: 7 }, {
    queue: "shop",
    meta: { ext: { acme: [1, { a: null }] } },
  });
  const text = EnvelopeCodec.encode(made);
  assert.deepEqual(EnvelopeCodec.decode(text), made);
  assert.equal(EnvelopeCodec.encode(EnvelopeCodec.decode(text)), text);
});

test("what is neither bytes nor a text reads as a body of nothing", () => {
  for (const odd of [undefined, null, 5, 5n, Symbol("5"), {}, [], () => {}, new Date(0)]) {
    const reading = readEnvelope(odd as never);
    assert.deepEqual([reading.urn, reading.attempts, reading.metaQueue], ["", null, null]);
    assert.equal(reading.verdict().verdict, "poison");
    assert.deepEqual(reading.verdict().envelope(), {});
  }
});

test("EnvelopeCodec.decodeLenient() passes on what onWarning throws", () => {
  const wrong = new Error("the log is full");
  const onWarning = (): never => {
    throw wrong;
  };
  assert.throws(
    () => EnvelopeCodec.decodeLenient('{"job":"u","timestamp":1}', { onWarning }),
    (error) => error === wrong,
  );
});

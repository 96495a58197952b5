import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../core/codec.ts";
import { type EnvelopeReading, readEnvelope } from "../../core/reading.ts";
import { reemitText } from "../../core/splice.ts";
import { test } from "../harness.ts";
import { canonical } from "./_documents.ts";

const encoder = new TextEncoder();

function facts(reading: EnvelopeReading): unknown[] {
  const { urn, traceId, messageId, metaQueue, attempts } = reading;
  return [urn, traceId, messageId, metaQueue, attempts];
}

/** Reads a body as text and as bytes, and both have to agree. */
function route(body: string): unknown[] {
  const fromText = facts(readEnvelope(body));
  assert.deepEqual(facts(readEnvelope(encoder.encode(body))), fromText);
  return fromText;
}

const URN = "urn:babel:shop:paid";
const TRACE = "11111111-2222-4333-8444-555555555555";
const ID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const PLAIN = [URN, TRACE, ID, "shop", 0];

test("a reading routes without looking at data", () => {
  const broken = canonical("{this is no JSON");
  assert.deepEqual(route(broken), PLAIN);
  for (const body of [broken, encoder.encode(broken)]) {
    const reading = readEnvelope(body);
    assert.equal(reading.urn, URN);
    assert.equal(reading.verdict().verdict, "poison");
    assert.deepEqual(facts(reading), ["", null, "", null, null]);
  }
  const overflow = readEnvelope(canonical('{"n":1e400}', "3"));
  assert.equal(overflow.verdict().verdict, "poison");
  assert.deepEqual(facts(overflow), [URN, TRACE, ID, "shop", 3]);
});

test("a reading routes bodies of every shape alike", () => {
  const parsed = JSON.parse(canonical());
  const shapes = [
    canonical(),
    JSON.stringify(parsed, null, 2),
    JSON.stringify(Object.fromEntries(Object.entries(parsed).reverse())),
    canonical().replace('"job"', '"j\\u006fb"'),
    canonical().replace('"job"', '"urn"'),
    canonical().replace('"job":', '"job":7,"urn":'),
    canonical().replace('"urn:babel', '"\\u0075rn:babel'),
    canonical().replace('"queue":"shop"', '"queue":"\\u0073hop"'),
    canonical().replace('"created_at":', '"ext":{},"created_at":'),
    canonical().replace('"attempts":0', '"attempts":0,"dead_letter":{"reason":"failed"}'),
    canonical().replace('"data":{', '"data":null,"x":{'),
    canonical('{"a":1},"timestamp":5'),
  ];
  for (const body of shapes) assert.deepEqual(route(body), PLAIN, body);
});

test("a reading finds the frame of a long body, and of one with long members", () => {
  const filler = JSON.stringify({ text: "\u00e9\u2615 x".repeat(20_000) });
  assert.deepEqual(route(canonical(filler)), PLAIN);
  assert(readEnvelope(encoder.encode(canonical(filler))).verdict().canonical);
  const nested = JSON.stringify({ copy: canonical(filler), inner: JSON.parse(canonical()) });
  assert.deepEqual(route(canonical(nested)), PLAIN);
  for (const length of [300, 480, 511, 512, 513, 700, 3000]) {
    const urn = `urn:babel:\u00e9${"\u2615".repeat(length)}`;
    const body = canonical(filler).replace(URN, urn);
    assert.equal(route(body)[0], urn);
    const queue = "q\u00e9".repeat(length);
    assert.equal(route(canonical(filler).replace('"shop"', JSON.stringify(queue)))[3], queue);
  }
});

test("a reading keeps a replacement character apart from a byte that is no UTF-8", () => {
  const body = canonical().replace(URN, "urn:\ufffd");
  assert.equal(route(body)[0], "urn:\ufffd");
  const bytes = encoder.encode(canonical());
  bytes[12] = 0xff;
  const reading = readEnvelope(bytes);
  assert.equal(reading.urn, "");
  assert.equal(reading.verdict().verdict, "poison");
});

test("a member hidden behind data shows once the whole body is parsed", () => {
  const body = canonical('{"id":7},"job":"urn:other","trace_id":"t2"');
  const reading = readEnvelope(encoder.encode(body));
  assert.equal(reading.urn, URN);
  const verdict = reading.verdict();
  assert.deepEqual([verdict.verdict, verdict.canonical], ["ok", false]);
  assert.deepEqual(facts(reading), ["urn:other", "t2", ID, "shop", 0]);
  assert.equal(verdict.envelope()["job"], "urn:other");
});

test("blank members read as absent", () => {
  const blank = canonical().replace(TRACE, " \\t").replace('"queue":"shop"', '"queue":" "');
  assert.deepEqual(route(blank), [URN, null, ID, null, 0]);
  const bare = '{"job":"u"}';
  assert.deepEqual(route(bare), ["u", null, "", null, null]);
  assert.deepEqual(route('{"job":"u","trace_id":7,"meta":{"id":5,"queue":[]}}'), [
    "u",
    null,
    "",
    null,
    null,
  ]);
  assert.deepEqual(route(canonical().replace('"queue":"shop"', '"queue":" "'))[3], null);
});

test("attempts count from 0 to 2^53-1, and are null when the body does not say", () => {
  const counted = (literal: string): unknown => route(canonical("{}", literal))[4];
  assert.equal(counted("7"), 7);
  assert.equal(counted("-7"), 0);
  assert.equal(counted("-0"), 0);
  assert(Object.is(counted("-0"), 0));
  assert.equal(counted("9007199254740993"), Number.MAX_SAFE_INTEGER);
  assert.equal(counted("9223372036854775807"), Number.MAX_SAFE_INTEGER);
  for (const odd of ["1.0", "1e2", '"1"', "null", "true", "9223372036854775808"]) {
    assert.equal(counted(odd), null, odd);
  }
  assert.equal(readEnvelope(canonical("{}", "-7")).verdict().envelopeAttempts, -7);
  assert.equal(readEnvelope(canonical("{}", "null")).verdict().envelopeAttempts, 0);
});

test("a reading never throws, and parses once", () => {
  for (const body of ["", "{", '{"job":', "\ud800", new Uint8Array(), Uint8Array.of(0xff)]) {
    const reading = readEnvelope(body);
    assert.equal(reading.urn, "");
    assert.equal(reading.attempts, null);
    const verdict = reading.verdict();
    assert.equal(verdict.verdict, "poison");
    assert.equal(reading.verdict(), verdict);
    assert.deepEqual(verdict.envelope(), {});
    assert.deepEqual([verdict.data, verdict.meta, verdict.warnings], [null, {}, []]);
  }
});

test("the verdict gives data, meta and the folded envelope", () => {
  const made = EnvelopeCodec.make("u", { id: 7 }, { queue: "q" });
  const verdict = readEnvelope(EnvelopeCodec.encode(made)).verdict();
  assert.deepEqual(verdict.data, made.data);
  assert.deepEqual(verdict.meta, made.meta);
  assert.deepEqual(verdict.envelope(), made);
  const odd = readEnvelope('{"urn":"u","data":null,"meta":{"ts":1,"x":2},"timestamp":3}').verdict();
  assert.deepEqual([odd.verdict, odd.data, odd.meta], ["ok", null, { x: 2 }]);
  assert.deepEqual(odd.envelope(), { job: "u", data: null, meta: { x: 2 } });
  assert.deepEqual(odd.warnings.map(({ pointer }) => pointer), ["/timestamp", "/meta/ts"]);
});

test("a lang that no SDK writes is read and kept", () => {
  const body = canonical().replace('"lang":"go"', '"lang":"cobol"');
  const verdict = readEnvelope(body).verdict();
  assert.deepEqual([verdict.verdict, verdict.canonical, verdict.missing], ["ok", true, []]);
  assert.equal(verdict.meta["lang"], "cobol");
  assert.equal(EnvelopeCodec.encode(EnvelopeCodec.decode(body)), body);
  assert.equal(reemitText(body, { attempts: 1 }), body.replace('"attempts":0', '"attempts":1'));
  for (const shape of [body, ` ${body}`]) {
    assert.equal(EnvelopeCodec.accepts(EnvelopeCodec.decode(shape)), true);
  }
});

test("a number in data that is no finite double is poison with bigint too", () => {
  const digits = "9".repeat(400);
  for (const literal of ["1e400", "-1e400", digits, `-${digits}`]) {
    for (const data of [`{"n":${literal}}`, `{"a":[12345678901234567890,{"n":${literal}}]}`]) {
      for (const body of [canonical(data), ` ${canonical(data)}`, `{"job":"u","data":${data}}`]) {
        for (const given of [body, encoder.encode(body)]) {
          const verdict = readEnvelope(given, { bigint: true }).verdict();
          assert.equal(verdict.verdict, "poison", body);
          assert.equal(verdict.cause, readEnvelope(given).verdict().cause);
          // The codec is lenient about it: what is there is no finite number, and the rest is exact.
          const n = literal.startsWith("-") ? -Infinity : Infinity;
          assert.deepEqual(
            EnvelopeCodec.decode(given, { bigint: true })["data"],
            data.startsWith('{"a"') ? { a: [12345678901234567890n, { n }] } : { n },
          );
        }
      }
    }
  }
});

test("integers beyond 2^53 are reported, and are bigint on demand", () => {
  const rows: [string, boolean][] = [
    ["9007199254740991", false],
    ["9007199254740992", true],
    ["-9007199254740993", true],
    ["12345678901234567890", true],
    ["1760000000123456", false],
    ["0.30000000000000004", false],
    ["1e300", false],
    ["12345678901234567.5", false],
    ['"12345678901234567890"', false],
    ['"a,12345678901234567890,b"', false],
  ];
  for (const [literal, inexact] of rows) {
    const data = `{"n":[${literal}],"m":1}`;
    for (const body of [canonical(data), ` ${canonical(data)}`]) {
      for (const given of [body, encoder.encode(body)]) {
        const plain = readEnvelope(given).verdict();
        assert.equal(plain.inexactIntegers, inexact, literal);
        assert.deepEqual(plain.data, JSON.parse(data));
        const exact = readEnvelope(given, { bigint: true }).verdict();
        assert.equal(exact.verdict, "ok");
        const [n] = (exact.data as unknown as { n: unknown[] }).n;
        assert.equal(n, inexact ? BigInt(literal) : JSON.parse(literal));
        assert.equal(exact.data?.["m"], 1);
      }
    }
  }
  const outside = readEnvelope('{"job":"u","data":{},"x":12345678901234567890}').verdict();
  assert.equal(outside.inexactIntegers, false);
});

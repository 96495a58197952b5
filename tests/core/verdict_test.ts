import assert from "node:assert/strict";
import { identityVerdict } from "../../core/identity.ts";
import { type BodyVerdict, readEnvelope } from "../../core/reading.ts";
import { test } from "../harness.ts";
import { canonical } from "./_documents.ts";

function verdictOf(body: string | Uint8Array): BodyVerdict["verdict"] {
  const { verdict, cause } = identityVerdict(body);
  assert.equal(cause === "", verdict === "ok", cause);
  if (typeof body === "string") {
    const bytes = new TextEncoder().encode(body);
    assert.deepEqual(identityVerdict(bytes), { verdict, cause });
  }
  return verdict;
}

function all(expected: BodyVerdict["verdict"], bodies: readonly string[]): void {
  for (const body of bodies) assert.equal(verdictOf(body), expected, body);
}

/** A body with one member of its own in each place that has typed members. */
function withMember(outer: string, name: string, value: string): string {
  const member = `"${name}":${value}`;
  return outer === "" ? `{"job":"u",${member}}` : `{"job":"u","${outer}":{${member}}}`;
}

const STRINGS = [
  ["", "trace_id"],
  ["meta", "id"],
  ["meta", "queue"],
  ["meta", "lang"],
  ["dead_letter", "reason"],
  ["dead_letter", "error"],
  ["dead_letter", "exception"],
  ["dead_letter", "original_queue"],
  ["dead_letter", "lang"],
] as const;
const OBJECTS = [["", "data"], ["", "meta"], ["", "dead_letter"]] as const;
const INTEGERS = [
  ["", "attempts"],
  ["meta", "schema_version"],
  ["meta", "created_at"],
  ["dead_letter", "attempts"],
  ["dead_letter", "failed_at"],
] as const;

test("a string member takes a string or null", () => {
  for (const [outer, name] of STRINGS) {
    all("ok", ['"x"', '""', "null"].map((value) => withMember(outer, name, value)));
    all("poison", ["7", "true", "[]", "{}"].map((value) => withMember(outer, name, value)));
  }
});

test("an object member takes an object or null", () => {
  for (const [outer, name] of OBJECTS) {
    all("ok", ["{}", "null", '{"a":1}'].map((value) => withMember(outer, name, value)));
    all("poison", ["7", "false", "[]", '"{}"'].map((value) => withMember(outer, name, value)));
  }
});

test("an integer member is judged by its literal, and within 64 bits", () => {
  const good = ["0", "-0", "-1", "7", "9223372036854775807", "-9223372036854775808", "null"];
  const bad = [
    "1.0",
    "1E2",
    "1e0",
    "1.5",
    '"3"',
    "true",
    "[]",
    "9223372036854775808",
    "-9223372036854775809",
    "1" + "0".repeat(400),
    "1e400",
  ];
  for (const [outer, name] of INTEGERS) {
    all("ok", good.map((value) => withMember(outer, name, value)));
    all("poison", bad.map((value) => withMember(outer, name, value)));
  }
});

test("identity, unknown members, forbidden members and other spellings have no type", () => {
  all("ok", [
    '{"job":5,"urn":"u"}',
    '{"job":{},"urn":"u"}',
    '{"job":" \\t","urn":"u"}',
    '{"job":"u","urn":5}',
    '{"job":"u","timestamp":{},"meta":{"ts":[],"source":1}}',
    '{"job":"u","x":1.5,"TRACE_ID":7,"Data":[],"meta":{"ID":5,"x":1e400}}',
    '{"job":"u","data":{"attempts":"x","meta":7,"trace_id":[]}}',
    '{"job":"u","x":{"attempts":1.0}}',
    '{"urn":"  u  "}',
  ]);
});

test("a canonical shape does not hide what is wrong with its fields", () => {
  const URN = "urn:babel:shop:paid";
  all("poison", [
    canonical("{}", "007"),
    canonical("{}", "-01"),
    canonical("{}", "--1"),
    canonical("{}", "1.0"),
    canonical().replace("1760000000123", "01760000000123"),
    canonical().replace("1760000000123", "1.7e12"),
    canonical().replace("1760000000123", "9223372036854775808"),
    canonical().replace("1760000000123", "17600000001230000000"),
    canonical().replace("1760000000123", "1".repeat(40)),
    canonical("{}", "9223372036854775808"),
    canonical().replace(URN, "a\u0001b"),
    canonical().replace('"shop"', '"sh\top"'),
    canonical().replace('"shop"', "null,"),
  ]);
  all("no_identity", [" ", ""].map((job) => canonical().replace(URN, job)));
  all("ok", [canonical("{}", "-0"), canonical().replace(URN, " padded")]);
  all("ok", ["9223372036854775807", "-1"].map((at) => canonical().replace("1760000000123", at)));
  for (const trace of [" ", ""]) {
    const body = canonical().replace(/"trace_id":"[^"]*"/, `"trace_id":"${trace}"`);
    assert.deepEqual(readEnvelope(body).verdict().missing, ["trace_id"]);
    assert.equal(readEnvelope(body).traceId, null);
  }
});

test("a body without an identity is told apart from one that cannot be read", () => {
  all("no_identity", [
    "null",
    " null\n",
    "{}",
    '{"job":5}',
    '{"job":null}',
    '{"urn":5}',
    '{"job":"","urn":" "}',
    '{"JOB":"u"}',
    '{"job":"u","job":5}',
    '{"data":{"job":"u"}}',
  ]);
  all("poison", [
    "",
    " \n",
    "not json",
    "[]",
    "7",
    '"job"',
    "true",
    '{"job":"u"} x',
    '{"job":"u"}{}',
    '{"job":"u",}',
    '{"job":"u" "x":1}',
    "{'job':'u'}",
    '{"job":"u"}//',
    '{"job":"u","x":NaN}',
    '{"job":"u","x":-Infinity}',
    '{"job":"u","x":"\u0001"}',
    '{"job":"u","x":01}',
    '{"job":"u","x":1.}',
    '\ufeff{"job":"u"}',
    '{"attempts":"1"}',
  ]);
});

test("bytes that are no UTF-8 are poison, also inside a string", () => {
  const body = new TextEncoder().encode('{"job":"u","data":{"a":"xyz"}}');
  for (const bad of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80], [0x80]]) {
    const broken = body.slice();
    broken.set(bad, body.length - 6);
    assert.equal(verdictOf(broken), "poison");
  }
  assert.equal(verdictOf('{"job":"u\ufffd"}'), "ok");
  assert.equal(identityVerdict('{"job":"\ud800"}').verdict, "poison");
  assert.equal(verdictOf('{"job":"\\ud800"}'), "ok");
});

test("every occurrence of a typed member is judged, the last one counts", () => {
  all("poison", [
    '{"job":"u","attempts":"1","attempts":0}',
    '{"job":"u","data":[1],"data":{"id":7}}',
    '{"job":"u","meta":{"id":5,"id":"x"}}',
    '{"job":"u","meta":{"id":5},"meta":{"id":"x"}}',
    '{"job":"u","d\\u0061ta":[1],"data":{}}',
    '{"job":"u","data":{"n":1e400},"data":{}}',
  ]);
  const { data } = readEnvelope('{"job":"u","data":{"a":1},"data":{"id":7}}').verdict();
  assert.deepEqual(data, { id: 7 });
  all("ok", ['{"job":{},"job":"u"}', '{"job":5,"urn":"x","job":"u"}']);
});

test("a number inside data has to be a finite double", () => {
  const long = "1" + "0".repeat(309);
  const bad = [
    "1e400",
    "-2e999",
    "1E+400",
    "1e0400",
    long,
    `-${long}`,
    `${long}.5`,
    "9".repeat(400),
  ];
  const good = ["1e308", "1e-400", "3e-999", "0e999", "9".repeat(308), `0.${long}`, "1e00099"];
  for (const data of ['{"n":#}', '{"a":[{"n":#}]}', '{"a":[1,#]}', '{"a":{"b": # }}']) {
    const fill = (number: string): string => canonical(data.replace("#", number));
    all("poison", bad.map(fill));
    all("ok", good.map(fill));
    all("poison", bad.map((number) => ` ${fill(number)}`));
    all("ok", good.map((number) => ` ${fill(number)}`));
  }
  all("ok", bad.map((number) => `{"job":"u","x":${number},"meta":{"x":[${number}]}}`));
  all("ok", bad.map((number) => canonical(JSON.stringify({ n: number, m: `a ${number}, b` }))));
});

test("containers nest 1000 levels deep, the root counted", () => {
  const nested = (levels: number, open = "[", close = "]"): string =>
    open.repeat(levels) + close.repeat(levels);
  const object = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  all("ok", [
    canonical(`{"a":${nested(998)}}`),
    canonical(object(999)),
    `{"job":"u","x":${nested(999)}}`,
    canonical(`{"a":[${"{},".repeat(3000)}[]]}`),
    canonical(`{"a":"${nested(2000)}"}`),
  ]);
  all("poison", [
    canonical(`{"a":${nested(999)}}`),
    canonical(object(1000)),
    `{"job":"u","x":${nested(1000)}}`,
    `{"job":"u","meta":{"x":${nested(999)}}}`,
  ]);
});

test("the version is the second step: present and not 1 is not supported", () => {
  const read = (version: string): BodyVerdict =>
    readEnvelope(canonical().replace('"schema_version":1', `"schema_version":${version}`))
      .verdict();
  assert.deepEqual([read("1").verdict, read("1").versionSupported], ["ok", true]);
  assert.deepEqual([read("2").verdict, read("2").versionSupported], ["ok", false]);
  assert.deepEqual([read("0").verdict, read("0").versionSupported], ["ok", false]);
  assert.equal(read("null").versionSupported, true);
  assert.equal(read("1.0").verdict, "poison");
});

test("what a complete envelope has and a body lacks is named", () => {
  const rows: [string, string[]][] = [
    [canonical(), []],
    [` ${canonical()}`, []],
    ['{"job":"u"}', ["trace_id", "data", "meta", "attempts"]],
    ['{"job":"u","trace_id":null,"data":null,"meta":null,"attempts":null}', [
      "trace_id",
      "data",
      "meta",
      "attempts",
    ]],
    ['{"job":"u","trace_id":" ","data":{},"meta":{},"attempts":0}', [
      "trace_id",
      "meta.schema_version",
    ]],
    ['{"job":"u","trace_id":"\u00a0","data":{},"meta":{"schema_version":2},"attempts":0}', []],
  ];
  for (const [body, missing] of rows) {
    assert.deepEqual(readEnvelope(body).verdict().missing, missing, body);
  }
});

test("the cause holds no part of the body", () => {
  const secret = "s3cr3t";
  for (const body of [secret, `{"${secret}`, `{"job":"u","data":["${secret}"]}`]) {
    assert(!identityVerdict(body).cause.includes(secret));
  }
});

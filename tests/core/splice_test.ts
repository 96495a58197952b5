import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../core/codec.ts";
import { deadLetterBlock } from "../../core/dead_letter.ts";
import { type Edit, reemit, reemitText, resetForRedrive } from "../../core/splice.ts";
import { test } from "../harness.ts";
import { canonical } from "./_documents.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const BLOCK = deadLetterBlock({
  reason: "failed",
  error: new Error("no stock"),
  originalQueue: "shop",
  attempts: 3,
  failedAtMs: 1760000005000,
});
const D = `"dead_letter":${JSON.stringify(BLOCK)}`;

function both(body: string, edit: Edit): string {
  const text = reemitText(body, edit);
  assert.equal(decoder.decode(reemit(encoder.encode(body), edit)), text);
  return text;
}

function rows(table: readonly (readonly [body: string, edit: Edit, result: string])[]): void {
  for (const [body, edit, result] of table) assert.equal(both(body, edit), result, body);
}

test("reemit() changes the digits of attempts and nothing else", () => {
  const data = '{"a":1.0,"b":12345678901234567890,"c":1E2,"2":"\\u00e9","1":[-0,"\\/"],"a":2}';
  for (const [before, after] of [["0", 1], ["9", 10], ["10", 0], ["-4", 1], ["99", 100]] as const) {
    const expected = canonical(data, String(after));
    assert.equal(both(canonical(data, before), { attempts: after }), expected);
    const hinted = { attempts: after, canonical: true };
    assert.equal(both(canonical(data, before), hinted), expected);
  }
  const wide = canonical('{"t":"\u00e9\u2615\u{1f600}"}', "0");
  assert.equal(both(wide, { attempts: 12, canonical: true }), wide.replace(/0\}$/, "12}"));
});

test("reemit() keeps unknown members, order, repeats and white space inside", () => {
  rows([
    ['{"x":1e400,"attempts":0,"job":"u"}', { attempts: 1 }, '{"x":1e400,"attempts":1,"job":"u"}'],
    [
      '{"attempts":0,"job":"u","attempts":4}',
      { attempts: 5 },
      '{"attempts":0,"job":"u","attempts":5}',
    ],
    ['{"job":"u","attempt\\u0073":4}', { attempts: 5 }, '{"job":"u","attempt\\u0073":5}'],
    [' {"job" : "u", "attempts" : 4 }\n', { attempts: 5 }, '{"job" : "u","attempts" : 5}'],
    ['{"job":"u","attempts":null}', { attempts: 1 }, '{"job":"u","attempts":1}'],
    [
      '{"job":"u","meta":{"attempts2":1,"ext":{"ts":1}},"attempts":0}',
      {},
      '{"job":"u","meta":{"attempts2":1,"ext":{"ts":1}},"attempts":0}',
    ],
    ["{}", {}, "{}"],
    [" { } ", {}, "{}"],
  ]);
});

test("reemit() appends a count that is missing, before a dead letter", () => {
  rows([
    ["{}", { attempts: 1 }, '{"attempts":1}'],
    ['{"job":"u"}', { attempts: 1 }, '{"job":"u","attempts":1}'],
    [
      '{"job":"u","dead_letter":{},"x":1}',
      { attempts: 1 },
      '{"job":"u","attempts":1,"dead_letter":{},"x":1}',
    ],
    ['{"job":"u"}', { attempts: 1, deadLetter: BLOCK }, `{"job":"u","attempts":1,${D}}`],
  ]);
});

test("reemit() adds, replaces and removes a dead letter", () => {
  rows([
    [canonical("{}", "2"), { attempts: 3, deadLetter: BLOCK }, canonical("{}", `3,${D}`)],
    [canonical("{}", "2"), { deadLetter: BLOCK }, canonical("{}", `2,${D}`)],
    [canonical("{}", "2"), { deadLetter: BLOCK, canonical: true }, canonical("{}", `2,${D}`)],
    [
      canonical("{}", "2"),
      { attempts: 3, deadLetter: BLOCK, canonical: true },
      canonical("{}", `3,${D}`),
    ],
    ['{"dead_letter":{"a":1},"job":"u"}', { deadLetter: BLOCK }, `{${D},"job":"u"}`],
    ['{"dead_letter":1,"job":"u","dead\\u005fletter":2}', { deadLetter: null }, '{"job":"u"}'],
    ['{"dead_letter":{}}', { deadLetter: null }, "{}"],
    ['{"dead_letter":{}}', { deadLetter: null, attempts: 0 }, '{"attempts":0}'],
    ['{"job":"u","dead_letter":{"a":1.0}}', {}, '{"job":"u","dead_letter":{"a":1.0}}'],
  ]);
});

test("reemit() folds urn into job", () => {
  rows([
    ['{"urn":"u"}', {}, '{"job":"u"}'],
    [
      '{"x":1,"urn":"\\u0075","attempts":0}',
      { attempts: 1 },
      '{"job":"\\u0075","x":1,"attempts":1}',
    ],
    ['{"job":7,"urn":"u","attempts":0}', { attempts: 1 }, '{"job":"u","attempts":1}'],
    ['{"job":" \\r","x":1,"urn":"u"}', {}, '{"job":"u","x":1}'],
    ['{"job":"j","urn":" ","x":1}', {}, '{"job":"j","x":1}'],
    ['{"urn":"a","job":"j","urn":{}}', {}, '{"job":"j"}'],
    ['{"urn":"a","urn":"b","x":1}', {}, '{"job":"b","x":1}'],
    ['{"job":"a","job":5,"urn":"u"}', {}, '{"job":"a","job":"u"}'],
    ['{"job":"\\u00a0","urn":"u"}', {}, '{"job":"\\u00a0"}'],
    ['{"job":" padded ","attempts":0}', { attempts: 1 }, '{"job":" padded ","attempts":1}'],
    ['{"job":5,"urn":" "}', {}, '{"job":5,"urn":" "}'],
  ]);
});

test("reemit() drops forbidden members, every occurrence, wherever they stand", () => {
  rows([
    ['{"timestamp":1}', {}, "{}"],
    [
      '{"timestamp":1,"job":"u","t\\u0069mestamp":2,"attempts":0}',
      { attempts: 1 },
      '{"job":"u","attempts":1}',
    ],
    ['{"job":"u","timestamp":1,"timestamp":2}', {}, '{"job":"u"}'],
    [
      '{"job":"u","meta":{"ts":1,"id":"x","source":2},"meta":{"attempts":1}}',
      {},
      '{"job":"u","meta":{"id":"x"},"meta":{}}',
    ],
    ['{"meta":{"id" : "x" , "max_retries":3}}', {}, '{"meta":{"id" : "x"}}'],
    [
      '{"meta":[1],"x":{"timestamp":1,"meta":{"ts":1}}}',
      {},
      '{"meta":[1],"x":{"timestamp":1,"meta":{"ts":1}}}',
    ],
    [canonical('{"a":1},"timestamp":{"b":2}'), { attempts: 1 }, canonical('{"a":1}', "1")],
    [canonical('{"a":1},"urn":"x","z":{}'), { attempts: 1 }, canonical('{"a":1},"z":{}', "1")],
  ]);
});

test("reemit() refuses a body that is not one JSON object", () => {
  const deep = `{"a":${"[".repeat(1000)}${"]".repeat(1000)}}`;
  for (
    const body of [
      "",
      "null",
      "[]",
      "7",
      '{"a":1}x',
      '{"a":}',
      '{"a":1e}',
      "\ufeff{}",
      deep,
      "\ud800",
    ]
  ) {
    assert.throws(() => reemitText(body, { attempts: 1 }), {
      name: "BabelQueueError",
      code: "invalid_envelope",
    });
  }
  assert.throws(() => reemit(Uint8Array.of(0x7b, 0xff, 0x7d), {}), { code: "invalid_envelope" });
});

test("reemit() does not follow a hint that the end of the body contradicts", () => {
  const body = '{"urn":"u","timestamp":1,"attempts":0 }';
  assert.equal(both(body, { attempts: 1, canonical: true }), '{"job":"u","attempts":1}');
  for (const short of ["", "}", '"attempts":0}']) {
    assert.throws(() => reemitText(short, { canonical: true }), { code: "invalid_envelope" });
  }
});

test("reemit() writes no count outside 0 to 2^53-1", () => {
  const largest = canonical("{}", "9007199254740991");
  assert.equal(both(canonical("{}"), { attempts: 2 ** 60, canonical: true }), largest);
  assert.equal(both(canonical("{}"), { attempts: -3 }), canonical("{}", "0"));
});

test("reemit() leaves the bytes it was given alone, also a view of a larger buffer", () => {
  const buffer = encoder.encode(`xx${canonical()}yy`);
  const body = buffer.subarray(2, -2);
  const before = body.slice();
  for (const hint of [true, false]) {
    for (const attempts of [5, 12]) {
      const result = reemit(body, { attempts, canonical: hint });
      assert.equal(decoder.decode(result), canonical(undefined, String(attempts)));
      assert.deepEqual(body, before);
      assert.notEqual(result.buffer, buffer.buffer);
    }
  }
});

test("resetForRedrive() takes the dead letter away and starts the count again", () => {
  const record = canonical('{"n":1.0}', `3,${D}`).replace("}}", '},"x":1e400}');
  const reset = canonical('{"n":1.0}', "0");
  assert.equal(resetForRedrive(canonical('{"n":1.0}', `3,${D}`)), reset);
  assert.equal(
    decoder.decode(resetForRedrive(encoder.encode(record))),
    reset.replace(/\}$/, ',"x":1e400}'),
  );
  const envelope = { ...JSON.parse(record), y: 2 };
  const copy = resetForRedrive(envelope);
  assert.deepEqual(Object.keys(copy), ["job", "trace_id", "data", "meta", "attempts", "x", "y"]);
  assert.equal((copy as { attempts?: unknown }).attempts, 0);
  assert.equal(envelope.attempts, 3);
  assert.equal("dead_letter" in envelope, true);
  assert.deepEqual(EnvelopeCodec.decode(resetForRedrive('{"job":"u"}')), { job: "u", attempts: 0 });
  assert.throws(() => resetForRedrive("not json"), { code: "invalid_envelope" });
});

test("resetForRedrive() refuses what is no record", () => {
  for (const odd of [null, undefined, 5, [], "5"]) {
    assert.throws(() => resetForRedrive(odd as never), { code: "invalid_envelope" });
  }
});

test("a count that is no number is 0", () => {
  for (const attempts of [5n, Symbol("5"), "5", null]) {
    const edit = { attempts: attempts as unknown as number };
    assert.equal(reemitText('{"job":"u","attempts":7}', edit), '{"job":"u","attempts":0}');
  }
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { poisonBlock, poisonRecord } from "../../core/poison.ts";
import { test } from "../harness.ts";
import { documents } from "./_documents.ts";
import { type Node, parseJson } from "./_reference.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const BLOCK = poisonBlock({
  cause: "why",
  originalQueue: "shop",
  attempts: 2,
  failedAtMs: 1760000005000,
});
const D = `"dead_letter":{"reason":"poison","error":"Undecodable BabelQueue body: why",` +
  `"exception":"BabelQueueError","failed_at":1760000005000,"original_queue":"shop",` +
  `"attempts":2,"lang":"node"}`;

function recordOf(body: string | Uint8Array): string {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  return decoder.decode(poisonRecord(bytes, BLOCK));
}

function levels(count: number): string {
  return `{"a":${"[".repeat(count - 1)}${"]".repeat(count - 1)}}`;
}

test("poisonBlock() has the members of the contract in their order", () => {
  assert.equal(JSON.stringify(BLOCK), D.slice(D.indexOf("{")));
  const odd = poisonBlock({ cause: "x", originalQueue: "\ud800", attempts: -1, failedAtMs: 1 });
  assert.equal(odd.original_queue, "\ufffd");
  assert.equal(odd.attempts, 0);
});

test("poisonRecord() splices the block into a strict object and keeps every byte of it", () => {
  const rows: [string, string][] = [
    ['{"a":1}', `{"a":1,${D}}`],
    ["{}", `{${D}}`],
    [" { } ", `{${D}}`],
    ['{"a" : 1e400}', `{"a" : 1e400,${D}}`],
    [' \t{"x" : 1, "x":2}\n', `{"x" : 1, "x":2,${D}}`],
    ['{"x":1 }', `{"x":1 ,${D}}`],
    ['{"n":12345678901234567890}', `{"n":12345678901234567890,${D}}`],
    ['{"job":5,"urn":"u","timestamp":1}', `{"job":5,"urn":"u","timestamp":1,${D}}`],
    ['{"s":"\\ud83d\\ude00\\\\ud800"}', `{"s":"\\ud83d\\ude00\\\\ud800",${D}}`],
    ['{"s":"caf\u00e9 \u2615 \ud83d\ude00"}', `{"s":"caf\u00e9 \u2615 \ud83d\ude00",${D}}`],
    ['{"x":{"dead_letter":1}}', `{"x":{"dead_letter":1},${D}}`],
    ['{"Dead_letter":1}', `{"Dead_letter":1,${D}}`],
    [levels(1000), `${levels(1000).slice(0, -1)},${D}}`],
  ];
  for (const [body, record] of rows) assert.equal(recordOf(body), record);
});

test("poisonRecord() wraps every other text", () => {
  const bodies = [
    "not json",
    "",
    "null",
    "7",
    "[1,2]",
    '{"a":1}x',
    '{"a":NaN}',
    '{"a":Infinity}',
    '\ufeff{"a":1}',
    '{"a":1,"dead_letter":null}',
    '{"dead_letter":{},"a":1}',
    '{"x":1,"dead\\u005fletter":{}}',
    '{"s":"\\ud800"}',
    '{"s":"\\udc00\\ud800"}',
    '{"s":"\\uD83Dx\\uDE00"}',
    '{"\\ud83d\\\\ude00":1}',
    '{"s":"\\ud83d\ude00'.slice(0, 12) + '"}',
    '{"a":01}',
    "line1\nline2\ttab \u0001",
    levels(1001),
  ];
  for (const body of bodies) assert.equal(recordOf(body), `{"raw":${JSON.stringify(body)},${D}}`);
});

test("poisonRecord() writes bytes that are no UTF-8 as padded base64", () => {
  const rows: [readonly number[], string][] = [
    [[0xff, 0xfe], "//4="],
    [[0xff], "/w=="],
    [[0xff, 0xfe, 0xfd], "//79"],
    [[0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d], "eyJhIjoi/yJ9"],
    [[0xc0, 0x80], "wIA="],
    [[0xed, 0xa0, 0x80], "7aCA"],
    [[0xf4, 0x90, 0x80, 0x80], "9JCAgA=="],
  ];
  for (const [bytes, base64] of rows) {
    const record = recordOf(Uint8Array.from(bytes));
    assert.equal(record, `{"raw":"${base64}","raw_encoding":"base64",${D}}`);
  }
});

test("poisonRecord() gives back what it was given", () => {
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    documents.map((t) => encoder.encode(t)),
  );
  fc.assert(
    fc.property(bodies, (body) => {
      const record = recordOf(body);
      const { members = [] } = parseJson(record);
      const own = new Map<string, Node>(members);
      assert.equal(members.at(-1)?.[0], "dead_letter");
      assert.equal(members.filter(([name]) => name === "dead_letter").length, 1);
      if (own.get("raw_encoding")?.text === "base64" && members.length === 3) {
        const text = own.get("raw")?.text ?? "";
        assert.deepEqual(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)), body);
      } else if (members.length === 2 && members[0]?.[0] === "raw") {
        assert.equal(own.get("raw")?.text, decoder.decode(body));
      } else {
        const spliced = record.slice(0, -D.length - 1).replace(/,$/, "");
        assert.equal(
          spliced,
          members.length === 1 ? "{" : decoder.decode(body).trim().slice(0, -1),
        );
      }
    }),
    { numRuns: 1000 },
  );
});

import assert from "node:assert/strict";
import { identityVerdict } from "../../core/identity.ts";
import { poisonBlock, poisonRecord } from "../../core/poison.ts";
import { readEnvelope } from "../../core/reading.ts";
import { reemit } from "../../core/splice.ts";
import { test } from "../harness.ts";
import { canonical } from "./_documents.ts";

const encoder = new TextEncoder();
const SIZE = 1_000_000;
const BLOCK = poisonBlock({ cause: "x", originalQueue: "q", attempts: 0, failedAtMs: 0 });

/** Bodies that punish recursion and anything that grows faster than the body. */
function hostile(): [name: string, body: string, ok: boolean][] {
  const digits = "1".repeat(SIZE);
  const many = (text: string, join = ","): string =>
    new Array(Math.floor(SIZE / (text.length + 1))).fill(text).join(join);
  return [
    ["open arrays", "[".repeat(SIZE), false],
    ["open objects", '{"a":'.repeat(SIZE / 5), false],
    ["open arrays in data", canonical(`{"a":${"[".repeat(SIZE)}}`), false],
    [
      "closed arrays in data",
      canonical(`{"a":${"[".repeat(SIZE / 2)}${"]".repeat(SIZE / 2)}}`),
      false,
    ],
    ["closing brackets", canonical(`{"a":${"]".repeat(SIZE)}}`), false],
    ["quotes", '"'.repeat(SIZE), false],
    ["quotes in an object", `{${'"'.repeat(SIZE)}`, false],
    ["backslashes", `{"job":"${"\\".repeat(SIZE)}`, false],
    ["escaped quotes", `{"job":"${'\\"'.repeat(SIZE / 2)}`, false],
    ["escapes in data", canonical(`{"a":"${"\\\\".repeat(SIZE / 2)}"}`), true],
    ["surrogate escapes", `{"job":"u","a":"${"\\ud83d\\ude00".repeat(SIZE / 12)}"}`, true],
    ["white space", " ".repeat(SIZE), false],
    ["white space and a word", `${" ".repeat(SIZE)}nul`, false],
    ["one long number in data", canonical(`{"n":${digits}}`), false],
    ["one long number", `{"job":"u","n":${digits}}`, true],
    ["one long fraction", canonical(`{"n":0.${digits}}`), true],
    ["one long exponent", canonical(`{"n":1e${digits}}`), false],
    ["exponents in a string", canonical(`{"n":"${many("1e999")}"}`), true],
    ["a long count", `{"job":"u","attempts":${digits}}`, false],
    ["many members", `{"job":"u",${many('"a":0')}}`, true],
    ["many jobs", `{${many('"job":"u"')}}`, true],
    ["many urns", `{${many('"urn":"u"')}}`, true],
    ["many metas", `{"job":"u",${many('"meta":{"ts":1}')}}`, true],
    ["many data", `{"job":"u",${many('"data":{}')}}`, true],
    ["many escaped names", `{"job":"u",${many('"\\u006aob2":0')}}`, true],
    ["many tails", canonical(`{"a":"x"},${many('"meta":{"id":""}')}`), true],
    ["many heads", canonical().slice(0, 20).repeat(SIZE / 20), false],
    ["a long urn", canonical().replace("urn:", "u".repeat(SIZE)), true],
    ["a long name", `{"job":"u","${"n".repeat(SIZE)}":1}`, true],
    ["NUL", "\0".repeat(SIZE), false],
    ["commas", `{${",".repeat(SIZE)}}`, false],
  ];
}

for (const [name, body, ok] of hostile()) {
  test(`a megabyte of ${name} is judged without recursion`, () => {
    const bytes = encoder.encode(body);
    const reading = readEnvelope(bytes);
    assert.equal(typeof reading.urn, "string");
    assert.equal(reading.verdict().verdict === "ok", ok);
    assert.equal(typeof reading.verdict().inexactIntegers, "boolean");
    assert.equal(identityVerdict(body).verdict, reading.verdict().verdict);
    assert(poisonRecord(bytes, BLOCK).length > bytes.length / 2);
    if (ok) assert(reemit(bytes, { attempts: 1 }).length > 2);
  });
}

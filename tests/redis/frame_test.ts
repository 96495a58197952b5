/** The header frame of the legacy layout. */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import { frame, unframe } from "../../transports/redis/frame.ts";
import { test } from "../harness.ts";

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const text = (value: Uint8Array): string => new TextDecoder().decode(value);

test("V219 whatever is no frame is a bare value", () => {
  const bare = [
    '{"__bq_frame":0,"body":"x"}',
    '{"__bq_frame":null,"body":"x"}',
    '{"__bq_frame":1,"body":5}',
    '{"__bq_frame":1}',
    ' {"__bq_frame":1,"body":"x"}',
    '{"a":"\\"__bq_frame\\""}',
    '{"__bq_frame":1,"body":"x"',
    '["__bq_frame"]',
    '{"__bq_frame":1,"body":"\\ud800"}',
    "",
    "{",
    '"__bq_frame"',
  ];
  for (const value of bare) {
    const { body, headers } = unframe(bytes(value));
    assert.equal(text(body), value);
    assert.deepEqual({ ...headers }, {}, value);
  }
});

test("V219 a frame needs no headers, and the mark may stand anywhere", () => {
  const frames: Readonly<Record<string, Record<string, string>>> = {
    '{"__bq_frame":1,"body":"x"}': {},
    '{"body":"x","__bq_frame":2}': {},
    '{"body":"x","headers":{"a":"1","b":"","":"2"},"__bq_frame":true}': { a: "1" },
    '{"__bq_frame":1,"headers":"no","body":"x"}': {},
    '{"__bq_frame":1,"headers":["no"],"body":"x"}': {},
    '{"__bq_frame":1,"headers":null,"body":"\\u0078"}': {},
  };
  for (const [value, expected] of Object.entries(frames)) {
    const { body, headers } = unframe(bytes(value));
    assert.equal(text(body), "x", value);
    assert.deepEqual({ ...headers }, expected, value);
    assert.equal(Object.getPrototypeOf(headers), null);
  }
});

test("a frame as Go writes it is read", () => {
  const { body, headers } = unframe(bytes(
    '{"__bq_frame":1,"headers":{"a":"\\u003c","b":"2"},"body":"{\\"job\\":\\"\\u0026\\"}"}',
  ));
  assert.equal(text(body), '{"job":"&"}');
  assert.deepEqual({ ...headers }, { a: "<", b: "2" });
});

test("without a usable header, or with a body that is no text, there is no frame", () => {
  const body = Uint8Array.of(0xff, 0x00);
  assert.equal(frame(body, { a: "1" }), body);
  assert.equal(frame(bytes("x"), { a: "", "": "b" }).length, 1);
  assert.equal(frame(bytes("x"), undefined).length, 1);
});

test("what is framed comes out of it again", () => {
  const name = fc.string({ unit: "grapheme", minLength: 1 });
  const headers = fc.dictionary(name, name, { minKeys: 1, noNullPrototype: true });
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), headers, (body, riders) => {
    const stored = frame(bytes(body), riders);
    assert.deepEqual(Object.keys(JSON.parse(text(stored))), ["__bq_frame", "headers", "body"]);
    const back = unframe(stored);
    assert.equal(text(back.body), body);
    assert.deepEqual({ ...back.headers }, riders);
  }));
});

test("any bytes that are no frame are a body as they are", () => {
  fc.assert(fc.property(fc.uint8Array(), (stored) => {
    assert.deepEqual(unframe(stored).body, stored);
  }));
});

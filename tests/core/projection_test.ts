/** What of a body goes into the slots of a broker. */

import assert from "node:assert/strict";
import { projectionOf } from "../../core/projection.ts";
import { test } from "../harness.ts";

const utf8 = new TextEncoder();
const CANONICAL = '{"job":"urn:babel:shop:paid","trace_id":"t-1","data":{"id":7},' +
  '"meta":{"id":"i-1","queue":"shop","lang":"go","schema_version":1,"created_at":1760000000123},' +
  '"attempts":2}';
const SLOTS = {
  urn: "urn:babel:shop:paid",
  traceId: "t-1",
  messageId: "i-1",
  queue: "shop",
  lang: "go",
  schemaVersion: 1,
  createdAtMs: 1_760_000_000_123,
  attempts: 2,
};

const ofText = (text: string): unknown => projectionOf(utf8.encode(text));

test("a body has the same projection in the canonical order of members and in any other", () => {
  assert.deepEqual(ofText(CANONICAL), SLOTS);
  const { data, ...rest } = JSON.parse(CANONICAL);
  assert.deepEqual(ofText(JSON.stringify({ data, ...rest })), SLOTS);
  assert.deepEqual(ofText(JSON.stringify(JSON.parse(CANONICAL), null, 1)), SLOTS);
});

test("a record has the projection of its message", () => {
  assert.deepEqual(ofText(CANONICAL.replace(/}$/, ',"dead_letter":{"reason":"failed"}}')), SLOTS);
});

test("what a body lacks is empty in its projection, and the alias of the identity counts", () => {
  assert.deepEqual(ofText('{"urn":"u"}'), {
    urn: "u",
    traceId: null,
    messageId: "",
    queue: null,
    lang: "",
    schemaVersion: null,
    createdAtMs: null,
    attempts: 0,
  });
});

test("attempts are projected from 0 to the largest count that is ever written", () => {
  for (const [written, projected] of [[-4, 0], ["9223372036854775807", Number.MAX_SAFE_INTEGER]]) {
    const projection = projectionOf(utf8.encode(CANONICAL.replace(/2}$/, `${written}}`)));
    assert.equal(projection?.attempts, projected);
  }
});

test("another version of the envelope is projected as it is", () => {
  const other = CANONICAL.replace('"schema_version":1', '"schema_version":2');
  assert.equal(projectionOf(utf8.encode(other))?.schemaVersion, 2);
});

test("a body that does not decode has no projection, whatever its ends look like", () => {
  const infinite = CANONICAL.replace('"id":7', '"id":1e400');
  const broken = CANONICAL.replace('"id":7', '"id":7}');
  for (
    const text of [
      "",
      "no",
      "[1]",
      "{}",
      '{"job":7}',
      '{"job":"u","attempts":"1"}',
      infinite,
      broken,
    ]
  ) {
    assert.equal(ofText(text), null, text);
  }
  assert.equal(projectionOf(Uint8Array.of(0x7b, 0xff, 0x7d)), null);
});

test("of a member that is repeated behind data the last one is projected", () => {
  const twice = CANONICAL.replace(',"meta":', ',"job":"urn:babel:shop:sent","meta":');
  assert.equal(projectionOf(utf8.encode(twice))?.urn, "urn:babel:shop:sent");
});

test("of a body that the publisher encoded itself only the ends are read", () => {
  assert.deepEqual(projectionOf(utf8.encode(CANONICAL), true), SLOTS);
  const unread = CANONICAL.replace('"id":7', '"id":1e400');
  assert.deepEqual(projectionOf(utf8.encode(unread), true), SLOTS);
});

/** Bodies that a strict decoder refuses although JSON allows them: judged only where that is asked for. */

import assert from "node:assert/strict";
import { readEnvelope } from "../../core/reading.ts";
import { test } from "../harness.ts";

const META = '"meta":{"id":"i","queue":"q","lang":"go","schema_version":1,"created_at":0}';
const canonical = (data: string): string =>
  `{"job":"urn:a:b:c","trace_id":"t","data":${data},${META},"attempts":0}`;
const loose = (member: string): string => `{"job":"urn:a:b:c","x":${member},"attempts":0}`;

function verdictOf(body: string, wide: boolean): string {
  return readEnvelope(new TextEncoder().encode(body), { wide }).verdict().verdict;
}

test("a wide reading refuses numbers beyond every double and half surrogate pairs anywhere", () => {
  for (
    const body of [
      loose("1e400"),
      loose("[[-1E+400]]"),
      loose("9".repeat(310)),
      loose('"\\ud83d"'),
      loose('{"\\uDE00":1}'),
      loose('"\\ud83d\\ud83d\\ude00"'),
      canonical('{"x":"\\ud800"}'),
      canonical('{"\\udfff":1}'),
    ]
  ) {
    assert.equal(verdictOf(body, true), "poison", body);
    assert.equal(verdictOf(body, false), "ok", body);
  }
});

test("a wide reading takes what only looks like it", () => {
  for (
    const body of [
      loose('"\\ud83d\\ude00"'),
      loose('"\\\\ud83d"'),
      loose('"1e400"'),
      loose("1e308"),
      canonical('{"x":"\\uD83D\\uDE00"}'),
      canonical('{"x":"\\\\ud800"}'),
    ]
  ) {
    assert.equal(verdictOf(body, true), "ok", body);
  }
});

test("a number beyond every double inside data is poison on either reading", () => {
  assert.equal(verdictOf(canonical('{"x":1e400}'), true), "poison");
  assert.equal(verdictOf(canonical('{"x":1e400}'), false), "poison");
});

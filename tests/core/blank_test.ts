import assert from "node:assert/strict";
import fc from "fast-check";
import { isBlank, trimAscii } from "../../core/blank.ts";
import { test } from "../harness.ts";

const SIX = " \t\n\v\f\r";
const OTHERS = [
  "\u00a0",
  "\u0085",
  "\u3000",
  "\ufeff",
  "\u2028",
  "\u2003",
  "\u001c",
  "\u001f",
  "\0",
];

test("isBlank() knows six characters and no other space", () => {
  assert(isBlank(""));
  assert(isBlank(SIX));
  for (const blank of SIX) assert(isBlank(blank));
  for (const other of OTHERS) assert(!isBlank(other), JSON.stringify(other));
  assert(!isBlank(`${SIX}x${SIX}`));
});

test("trimAscii() takes the six characters off both ends and leaves the rest", () => {
  assert.equal(trimAscii(`${SIX}a ${SIX} b${SIX}`), `a ${SIX} b`);
  assert.equal(trimAscii(SIX), "");
  for (const other of OTHERS) assert.equal(trimAscii(` ${other} `), other);
});

test("trimAscii() leaves nothing to trim, and isBlank() says when nothing is left", () => {
  const text = fc.string({ unit: fc.constantFrom(...SIX, ...OTHERS, "a") });
  fc.assert(fc.property(text, (value) => {
    const trimmed = trimAscii(value);
    assert.equal(trimAscii(trimmed), trimmed);
    assert.equal(isBlank(value), trimmed === "");
    assert(value.includes(trimmed));
  }));
});

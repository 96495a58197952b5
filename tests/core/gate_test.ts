import assert from "node:assert/strict";
import { describeVersion, gatedRoute, versionGate } from "../../core/gate.ts";
import { test } from "../harness.ts";

test("versionGate() lets an absent, null or blank slot and exactly 1 pass", () => {
  for (const slot of [undefined, null, "", " ", "\t\n\v\f\r ", "1", 1, 1n]) {
    assert.equal(versionGate(slot), "pass", String(slot));
  }
});

test("versionGate() trims nothing and knows no other space", () => {
  const slots = [
    "2",
    "0",
    "01",
    "+1",
    "1.0",
    "x",
    " 1",
    "1 ",
    "\t1\n",
    "\u00a0",
    "\u0085",
    "\u3000",
    "\ufeff",
    "\u001c",
    "\u001f",
    "\u00a01",
    "1\u3000",
    "\uff11",
  ];
  for (const slot of slots) assert.equal(versionGate(slot), "gated", JSON.stringify(slot));
});

test("versionGate() passes no typed value but the integer 1", () => {
  const slots = [
    2,
    0,
    -1,
    1.5,
    2n,
    true,
    false,
    new Uint8Array([0x31]),
    new Date(1),
    [1],
    ["1"],
    {},
  ];
  for (const slot of slots) assert.equal(versionGate(slot), "gated", String(slot));
});

test("gatedRoute() escapes the version and never throws", () => {
  assert.equal(gatedRoute("2"), "babelqueue:unsupported-schema-version:2");
  assert.equal(gatedRoute(" a/b"), "babelqueue:unsupported-schema-version:%20a%2Fb");
  assert.equal(gatedRoute("\ud800"), "babelqueue:unsupported-schema-version:%EF%BF%BD");
  assert.match(gatedRoute(Object.create(null)), /^babelqueue:unsupported-schema-version:/);
});

test("describeVersion() cuts a long version at 64 characters", () => {
  assert.equal(describeVersion("2"), "2");
  assert.equal(describeVersion(2), "2");
  assert.equal(describeVersion("v".repeat(64)), "v".repeat(64));
  assert.equal(describeVersion("v".repeat(65)), `${"v".repeat(64)}...`);
  assert.equal(describeVersion("\u{1f600}".repeat(64)), "\u{1f600}".repeat(64));
  assert.equal(describeVersion("\u{1f600}".repeat(65)), `${"\u{1f600}".repeat(64)}...`);
  assert.equal(describeVersion("v".repeat(1_000_000)).length, 67);
  assert.equal(describeVersion(Object.create(null)), "object");
});

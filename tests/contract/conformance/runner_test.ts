import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "../../harness.ts";
import { OWN_SUITE } from "./conformance.ts";
import { follow, isRecord, type JsonRecord, sameJson } from "./json.ts";
import { reportOf } from "./report.ts";
import { resultsOf } from "./results.ts";
import {
  AbsentServer,
  countOf,
  failuresOf,
  type Plan,
  runSuite,
  type SectionOutcome,
  SkippedCase,
} from "./run.ts";
import { compact, depthOf, scanMembers } from "./scan.ts";
import { violations } from "./schema.ts";
import { casesOf, sectionsOf, type Suite } from "./suite.ts";

const readJson = (path: string): JsonRecord => {
  const value: unknown = JSON.parse(readFileSync(resolve(OWN_SUITE, path), "utf8"));
  assert.ok(isRecord(value));
  return value;
};
const SCHEMA = readJson("schema/results.schema.json");

function suiteOf(scopes: { [section: string]: string }, sections: JsonRecord): Suite {
  const announced = Object.fromEntries(
    Object.entries(scopes).map(([name, scope]) => [name, { scope }]),
  );
  return {
    folder: "memory",
    version: "1.2.3",
    sections: sectionsOf({ description: "", sections: announced, exceptions: [], ...sections }),
    resultsSchema: SCHEMA,
    read: () => assert.fail("no case reads a file"),
  };
}

const PLAN: Plan = {
  good: { check: () => {} },
  bad: {
    check: ({ value }) => {
      if (value["wrong"] === true) throw new Error("wrong answer");
    },
  },
  skips: {
    check: () => {
      throw new SkippedCase("ADR-0031", "not here");
    },
  },
  live: {
    check: () => {
      throw new AbsentServer("needs a server");
    },
  },
  late: { needs: "late/mod.ts" },
  parted: { blocks: { cases: { check: () => {} }, extra: { needs: "late/mod.ts" } } },
};

const ONE = { cases: [{ name: "a" }] };

function run(
  suite: Suite,
  { bindings = [], present = [] }: { bindings?: string[]; present?: string[] } = {},
): Promise<readonly SectionOutcome[]> {
  return runSuite(suite, { bindings, plan: PLAN, exists: (path) => present.includes(path) });
}

function results(sections: readonly SectionOutcome[], bindings: string[] = []): JsonRecord {
  const made = resultsOf({
    sdk: "sdk",
    version: "0.0.1",
    conformanceVersion: "1.2.3",
    generatedAt: new Date(0),
    bindings,
  }, sections);
  return JSON.parse(JSON.stringify(made));
}

test("the runner names cases as the results file wants them (T3)", () => {
  const ids = (name: string, section: unknown): string[] =>
    casesOf(name, section).map(({ id }) => id);
  assert.deepEqual(ids("s", [{ name: "x" }, {}]), ["x", "s#1"]);
  assert.deepEqual(ids("s", { description: "", cases: [{}, { name: "y" }] }), ["s#0", "y"]);
  assert.deepEqual(
    ids("s", { schema: {}, block: { cases: [{ name: "x" }, {}] }, single: { a: 1 }, count: 3 }),
    ["block/x", "block/1", "single"],
  );
  assert.deepEqual(ids("s", { cases: [], parameters: [{ name: "no case" }] }), []);
  assert.deepEqual(ids("s", { key: { name: "named" } }), ["named"]);
});

test("a section in scope that the runner does not know fails the run", async () => {
  const sections = await run(suiteOf({ novel: "core", good: "core" }, { novel: ONE, good: ONE }));
  assert.equal(failuresOf(sections).length, 2);
  assert.match(failuresOf(sections)[0]!, /novel: the runner does not know the section/);
  assert.equal((results(sections)["sections"] as JsonRecord)["novel"] !== undefined, true);
});

test("a section that is announced and missing fails the run, unless it is out of scope", async () => {
  const suite = suiteOf({ good: "core", late: "redis" }, {});
  assert.match(failuresOf(await run(suite)).join(), /^good: .* lacks it$/);
  assert.equal(failuresOf(await run(suite, { bindings: ["redis"] })).length, 2);
});

test("a section without a scope fails the run", async () => {
  const sections = await run(suiteOf({}, { good: ONE }));
  assert.match(failuresOf(sections).join(), /^good: the manifest gives the section no scope$/);
});

test("an unknown block of a section in scope fails, case by case", async () => {
  const parted = { cases: [{ name: "a" }], novel: { cases: [{}, {}] } };
  const sections = await run(suiteOf({ parted: "core" }, { parted }));
  assert.equal(countOf(sections, "pass"), 1);
  assert.equal(countOf(sections, "fail"), 2);
  const beyond = await run(suiteOf({ parted: "kafka" }, { parted }));
  assert.equal(countOf(beyond, "pass"), 1);
  assert.deepEqual(failuresOf(beyond), []);
});

test("two cases of one id fail the run", async () => {
  const good = { cases: [{ name: "a" }, { name: "a" }] };
  assert.match(failuresOf(await run(suiteOf({ good: "core" }, { good }))).join(), /'a'/);
});

test("a section out of scope is absent from the results and runs all the same", async () => {
  const bad = { cases: [{ name: "a" }, { name: "b", wrong: true }] };
  const suite = suiteOf({ good: "core", bad: "kafka", strange: "nats" }, {
    good: ONE,
    bad,
    strange: ONE,
  });
  const sections = await run(suite);
  assert.deepEqual(Object.keys(results(sections)["sections"] as JsonRecord), ["good"]);
  assert.deepEqual(failuresOf(sections), ["bad / b: wrong answer"]);
  const carried = results(await run(suite, { bindings: ["kafka"] }), ["kafka"]);
  assert.deepEqual(carried["sections"], {
    good: { a: { status: "pass" } },
    bad: { a: { status: "pass" }, b: { status: "fail", reason: "wrong answer" } },
  });
});

test("what is not built yet is never a pass and never left out", async () => {
  const late = { block: { cases: [{ name: "x" }, {}] }, single: {} };
  const suite = suiteOf({ late: "core" }, { late });
  const sections = await run(suite);
  assert.deepEqual(failuresOf(sections), []);
  assert.equal(countOf(sections, "unbuilt"), 3);
  const reason = "not built yet: needs late/mod.ts";
  assert.deepEqual(results(sections)["sections"], {
    late: {
      "block/x": { status: "fail", reason },
      "block/1": { status: "fail", reason },
      single: { status: "fail", reason },
    },
  });
  const lines = reportOf(suite, sections, []).join("\n");
  assert.match(lines, /0 passed, 0 failed, 0 skipped, 3 not built yet/);
  assert.match(lines, /NOT BUILT YET, so not claimed: late;/);
});

test("a section that waits for a part that exists fails the run", async () => {
  const sections = await run(
    suiteOf({ late: "core", parted: "core" }, { late: ONE, parted: { extra: { cases: [{}] } } }),
    { present: ["late/mod.ts"] },
  );
  assert.equal(failuresOf(sections).length, 2);
  assert.match(failuresOf(sections)[0]!, /late\/mod.ts exists/);
});

test("a skip cites its decision record", async () => {
  assert.throws(() => new SkippedCase("later", "because"));
  const sections = await run(suiteOf({ skips: "core" }, { skips: ONE }));
  const made = results(sections);
  assert.deepEqual(made["sections"], {
    skips: { a: { status: "skip", reason: "ADR-0031: not here" } },
  });
  assert.deepEqual(violations(made, SCHEMA), []);
});

test("a case whose server is absent has no result, and the report says so (T2)", async () => {
  const suite = suiteOf({ live: "core" }, { live: ONE });
  const sections = await run(suite);
  assert.deepEqual(failuresOf(sections), []);
  assert.deepEqual(results(sections)["sections"], { live: {} });
  const lines = reportOf(suite, sections, []).join("\n");
  assert.match(lines, /live +1 needs a server/);
  assert.match(lines, /1 LEFT OUT for want of a server/);
});

test("a results file that breaks its schema is refused", () => {
  const valid = results([]);
  assert.deepEqual(violations(valid, SCHEMA), []);
  const of = (sections: unknown): JsonRecord => ({ ...valid, sections });
  for (
    const wrong of [
      { ...valid, sdk: "" },
      { ...valid, version: undefined },
      { ...valid, conformance_version: "1.8" },
      { ...valid, generated_at: "yesterday" },
      { ...valid, bindings: ["nats"] },
      { ...valid, bindings: ["redis", "redis"] },
      { ...valid, comment: "" },
      of([]),
      of({ s: { c: "pass" } }),
      of({ s: { c: {} } }),
      of({ s: { c: { status: "unbuilt" } } }),
      of({ s: { c: { status: "skip" } } }),
      of({ s: { c: { status: "skip", reason: "later" } } }),
      of({ s: { c: { status: "fail", reason: "" } } }),
      of({ s: { c: { status: "pass", detail: 1 } } }),
    ]
  ) {
    assert.equal(violations(wrong, SCHEMA).length > 0, true, JSON.stringify(wrong));
  }
  assert.throws(() => violations(valid, { ...SCHEMA, minProperties: 1 }), /minProperties/);
});

test("the runner compares JSON by value and type", () => {
  assert.equal(sameJson({ a: [1, { b: null }] }, { a: [1, { b: null }] }), true);
  assert.equal(sameJson({ a: 1, b: 2 }, { b: 2, a: 1 }), true);
  for (
    const [left, right] of [
      [{}, []],
      [[], {}],
      [1, true],
      ["1", 1],
      [null, {}],
      [{ a: undefined }, {}],
      [{ constructor: 1 }, {}],
      [[1], [1, 2]],
      [0, null],
    ] as const
  ) {
    assert.equal(sameJson(left, right), false, JSON.stringify([left, right]));
  }
  const document = JSON.parse('{"a":{"b~/c":[{"":0}]},"__proto__":7}');
  assert.deepEqual(follow(document, "/a/b~0~1c/0/"), { found: true, value: 0 });
  assert.deepEqual(follow(document, "/__proto__"), { found: true, value: 7 });
  for (const pointer of ["/toString", "/a/b~0~1c/length", "/a/b~0~1c/00", "/a/x/y"]) {
    assert.deepEqual(follow(document, pointer), { found: false }, pointer);
  }
});

test("the runner's scanner sees repeated members, spelling and depth", () => {
  const members = scanMembers(' { "a" : [1, {"x":"}"}] , "\\u0061":1e400,"b":"\\"," } ');
  assert.deepEqual(members, [
    { name: "a", valueText: '[1, {"x":"}"}]' },
    { name: "a", valueText: "1e400" },
    { name: "b", valueText: '"\\","' },
  ]);
  assert.deepEqual(scanMembers("{ }"), []);
  assert.throws(() => scanMembers("[1]"));
  assert.throws(() => scanMembers('{"a":1'));
  assert.equal(compact(' { "a b" : [ 1 , "\\" " ] } '), '{"a b":[1,"\\" "]}');
  assert.equal(depthOf('{"a":[[{}],"[[[["]}'), 4);
});

/**
 * Runs the project's own vectors always, and the public suite where it is at hand: in the folder that
 * `BQ_CONFORMANCE_DIR` names, else in `../shared/conformance` beside the repository.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  absentArtemis,
  absentKafka,
  absentRabbitmq,
  absentRedis,
  brokerOfFile,
  startArtemis,
  startKafka,
  startRabbitmq,
  startRedis,
} from "../../brokers/mod.ts";
import { environment, requireOrSkip, test } from "../../harness.ts";
import { conformance, type ConformanceRun, OWN_SUITE, ROOT } from "./conformance.ts";
import { PLAN } from "./plan.ts";
import { failuresOf, type Servers } from "./run.ts";
import { violations } from "./schema.ts";
import { loadSuite } from "./suite.ts";

/** Sections of scope `core` whose subject does not exist yet. A change here is a change of what is claimed. */
const NOT_BUILT_YET = ["idempotency", "payload_schema", "payload_schema_unicode"];

const noRedis = await absentRedis();
const broker = brokerOfFile(noRedis, () => startRedis());
const noKafka = await absentKafka();
const kafka = brokerOfFile(noKafka, () => startKafka());
const noRabbitmq = await absentRabbitmq();
const rabbitmq = brokerOfFile(noRabbitmq, () => startRabbitmq());
const noArtemis = await absentArtemis();
const artemis = brokerOfFile(noArtemis, () => startArtemis());
const servers: Servers = {
  ...(noArtemis ? {} : { artemis: () => Promise.resolve(artemis().url) }),
  ...(noKafka ? {} : { kafka: () => Promise.resolve(kafka().port) }),
  ...(noRedis ? {} : { redis: () => Promise.resolve(broker().port) }),
  ...(noRabbitmq ? {} : { rabbitmq: () => Promise.resolve(rabbitmq().url) }),
};

const runs = new Map<string, Promise<ConformanceRun>>();

function runOf(folder: string): Promise<ConformanceRun> {
  const run = runs.get(folder) ?? conformance(folder, servers);
  runs.set(folder, run);
  return run;
}

function testSuite(label: string, folder: string): void {
  for (const { name, cases } of loadSuite(folder).sections) {
    test(`conformance, ${label}: section ${name}`, async () => {
      const { sections } = await runOf(folder);
      const section = sections.find((candidate) => candidate.name === name);
      assert.ok(section !== undefined, "the section did not run");
      assert.deepEqual(failuresOf([section]), []);
      assert.equal(section.outcomes.length, cases?.length, "a case without a result");
      for (const { id, status, reason } of section.outcomes) {
        if (status === "skip") assert.match(reason ?? "", /ADR-[0-9]{4}/, id);
      }
    });
  }

  test(`conformance, ${label}: only what is not built yet stays unclaimed`, async () => {
    const { bindings, sections, results } = await runOf(folder);
    const unbuilt = sections.filter(({ scope, outcomes }) =>
      scope === "core" && outcomes.some(({ status }) => status === "unbuilt")
    );
    assert.deepEqual(unbuilt.map(({ name }) => name).sort(), NOT_BUILT_YET);
    for (const { name, outcomes } of unbuilt) {
      for (const { id } of outcomes) assert.equal(results.sections[name]?.[id]?.status, "fail");
    }
    assert.deepEqual(results.bindings, bindings);
    for (const { name, scope } of sections) {
      const claimed = scope === "core" || bindings.includes(scope);
      assert.equal(Object.hasOwn(results.sections, name), claimed, name);
    }
  });

  test(`conformance, ${label}: the two skips of the contract and no other (T4)`, async () => {
    const { sections } = await runOf(folder);
    const skipped = sections.flatMap(({ name, outcomes }) =>
      outcomes.filter(({ status }) => status === "skip").map(({ reason }) => `${name}: ${reason}`)
    );
    assert.deepEqual(skipped.map((skip) => skip.slice(0, skip.indexOf(": ADR-") + 10)).sort(), [
      "asb: ADR-0037",
      "encode_reject: ADR-0031",
    ]);
  });
}

testSuite("own vectors", OWN_SUITE);

test("the project's own vectors cover every section of scope core", () => {
  const own = loadSuite(OWN_SUITE).sections;
  const core = own.filter(({ scope }) => scope === "core");
  for (const { name, cases } of core) assert.ok((cases?.length ?? 0) >= 4, name);
  for (const { name } of own) assert.ok(Object.hasOwn(PLAN, name), name);
});

const named = environment("BQ_CONFORMANCE_DIR");
const publicSuite = resolve(named || resolve(ROOT, "../shared/conformance"));
const absent = requireOrSkip(
  "the public conformance suite",
  Boolean(named) || existsSync(resolve(publicSuite, "manifest.json")), // a wrong name fails below
  "set BQ_CONFORMANCE_DIR to its folder; the project's own vectors run in any case",
);

if (!absent) {
  testSuite("public suite", publicSuite);

  test("the suite's own example of a results file follows its schema", () => {
    const suite = loadSuite(publicSuite);
    const example: unknown = JSON.parse(
      new TextDecoder().decode(suite.read("schema/results.example.json")),
    );
    assert.deepEqual(violations(example, suite.resultsSchema), []);
    assert.deepEqual(violations(example, loadSuite(OWN_SUITE).resultsSchema), []);
  });

  test("conformance: the plan names no section that the public suite lacks", () => {
    const names = loadSuite(publicSuite).sections.map(({ name }) => name);
    assert.deepEqual(Object.keys(PLAN).filter((name) => !names.includes(name)), []);
  });

  test("the project's own vectors copy no file of the public suite", () => {
    const digest = (folder: string, path: string): string =>
      new TextDecoder().decode(loadSuite(folder).read(path));
    const own = loadSuite(OWN_SUITE);
    const paths = new Set(
      own.sections.flatMap(({ cases = [] }) => cases.map(({ value }) => value["file"]))
        .filter((path) => typeof path === "string"),
    );
    for (const path of paths) {
      if (!existsSync(resolve(publicSuite, path))) continue;
      assert.notEqual(digest(OWN_SUITE, path), digest(publicSuite, path), path);
    }
  });
}

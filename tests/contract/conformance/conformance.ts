/**
 * One run of a suite on everything that the repository carries.
 *
 * @module
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord, text } from "./json.ts";
import { BINDING_ROOMS, PLAN } from "./plan.ts";
import { type Results, resultsOf } from "./results.ts";
import { runSuite, type SectionOutcome, type Servers } from "./run.ts";
import { violations } from "./schema.ts";
import { loadSuite, type Suite } from "./suite.ts";

/** Folder of the repository. */
export const ROOT: string = fileURLToPath(new URL("../../..", import.meta.url));

/** The project's own vectors. */
export const OWN_SUITE: string = fileURLToPath(new URL("../own_suite", import.meta.url));

/** A run, whole. */
export interface ConformanceRun {
  readonly suite: Suite;
  readonly bindings: readonly string[];
  readonly sections: readonly SectionOutcome[];
  readonly results: Results;
}

/** Runs the suite in a folder on everything the repository carries. */
export async function conformance(
  folder: string,
  servers: Servers = {},
): Promise<ConformanceRun> {
  const suite = loadSuite(folder);
  const exists = (path: string): boolean => existsSync(resolve(ROOT, path));
  const bindings = [...BINDING_ROOMS].filter(([, room]) => exists(room)).map(([name]) => name);
  const sections = await runSuite(suite, { bindings, plan: PLAN, exists, servers });
  const about: unknown = JSON.parse(readFileSync(resolve(ROOT, "package.json"), "utf8"));
  assert.ok(isRecord(about), "package.json holds no object");
  const results = resultsOf({
    sdk: text(about, "name"),
    version: text(about, "version"),
    conformanceVersion: suite.version,
    generatedAt: new Date(),
    bindings,
  }, sections);
  const wrong = violations(results, suite.resultsSchema);
  assert.deepEqual(wrong, [], "the results file does not follow its schema");
  return { suite, bindings, sections, results };
}

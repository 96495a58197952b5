/**
 * A conformance suite as data: a folder with `manifest.json`, `CONFORMANCE_VERSION`, fixtures and
 * the schema of the results file.
 *
 * @module
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isRecord, type JsonRecord, member } from "./json.ts";

/** One case, with everything around it that it may refer to. */
export interface SuiteCase {
  /** Id in the results file. */
  readonly id: string;
  /** `cases`, or the sub-key that the case belongs to. */
  readonly block: string;
  /** The case itself. */
  readonly value: JsonRecord;
  /** The object whose `cases` holds the case: the section, or the sub-key's. */
  readonly parent: JsonRecord;
}

/** One section of a manifest. */
export interface SuiteSection {
  /** Name in the manifest. */
  readonly name: string;
  /** `core` or a binding; undefined when the manifest does not say. */
  readonly scope: string | undefined;
  /** Its cases; undefined when the manifest announces the section and does not hold it. */
  readonly cases: readonly SuiteCase[] | undefined;
}

/** A suite, ready to run. */
export interface Suite {
  /** Where it lies; for messages. */
  readonly folder: string;
  /** Version of the suite. */
  readonly version: string;
  /** Its sections, in the manifest's order. */
  readonly sections: readonly SuiteSection[];
  /** Schema of the results file. */
  readonly resultsSchema: JsonRecord;
  /** The bytes of a file that a case names. */
  read(path: string): Uint8Array;
}

/**
 * Reads the suite in a folder.
 *
 * @throws {Error} when the folder holds no suite.
 */
export function loadSuite(folder: string): Suite {
  if (!existsSync(resolve(folder, "manifest.json"))) {
    throw new Error(`Cannot read a conformance suite in '${folder}': it has no manifest.json`);
  }
  const read = (path: string): Uint8Array => new Uint8Array(readFileSync(resolve(folder, path)));
  const readJson = (path: string): JsonRecord => {
    const value: unknown = JSON.parse(new TextDecoder().decode(read(path)));
    assert.ok(isRecord(value), `${path} holds no JSON object`);
    return value;
  };
  return {
    folder,
    version: new TextDecoder().decode(read("CONFORMANCE_VERSION")).trim(),
    sections: sectionsOf(readJson("manifest.json")),
    resultsSchema: readJson("schema/results.schema.json"),
    read,
  };
}

/** Members of a manifest that are no sections. */
const ABOUT: ReadonlySet<string> = new Set([
  "schema_version",
  "conformance_version",
  "description",
  "sections",
  "exceptions",
]);

/** The sections that a manifest announces or holds. */
export function sectionsOf(manifest: JsonRecord): readonly SuiteSection[] {
  const announced = member(manifest, "sections");
  assert.ok(isRecord(announced), "the manifest has no 'sections'");
  const names = new Set([
    ...Object.keys(manifest).filter((name) => !ABOUT.has(name)),
    ...Object.keys(announced),
  ]);
  return [...names].map((name) => {
    const about = member(announced, name);
    const scope = isRecord(about) ? member(about, "scope") : undefined;
    return {
      name,
      scope: typeof scope === "string" ? scope : undefined,
      cases: Object.hasOwn(manifest, name) ? casesOf(name, manifest[name]) : undefined,
    };
  });
}

/** The cases of one section, with the ids that the results file asks for. Contract: T3. */
export function casesOf(name: string, section: unknown): readonly SuiteCase[] {
  if (Array.isArray(section)) return elements(section, { cases: section }, "cases", `${name}#`, "");
  assert.ok(isRecord(section), `section '${name}' is neither an object nor a list`);
  const cases: SuiteCase[] = [];
  const named = !Array.isArray(section["cases"]);
  for (const [key, value] of Object.entries(section)) {
    if (key === "description" || key === "schema") continue;
    if (key === "cases" && Array.isArray(value)) {
      cases.push(...elements(value, section, key, `${name}#`, ""));
    } else if (isRecord(value) && Array.isArray(value["cases"])) {
      cases.push(...elements(value["cases"], value, key, `${key}/`, `${key}/`));
    } else if (isRecord(value)) {
      const own = named ? nameOf(value) : undefined;
      cases.push({ id: own ?? key, block: key, value, parent: section });
    }
  }
  return cases;
}

function elements(
  values: readonly unknown[],
  parent: JsonRecord,
  block: string,
  unnamedPrefix: string,
  namedPrefix: string,
): readonly SuiteCase[] {
  return values.map((value, index) => {
    assert.ok(isRecord(value), `case ${index} of '${block}' is no object`);
    const name = nameOf(value);
    const id = name === undefined ? `${unnamedPrefix}${index}` : `${namedPrefix}${name}`;
    return { id, block, value, parent };
  });
}

function nameOf(value: JsonRecord): string | undefined {
  const name = member(value, "name");
  return typeof name === "string" ? name : undefined;
}

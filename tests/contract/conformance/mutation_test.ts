/**
 * The checks themselves under test: a case whose expectation is altered must fail. What a check does
 * not look at would pass unnoticed.
 */

import assert from "node:assert/strict";
import { test } from "../../harness.ts";
import { OWN_SUITE } from "./conformance.ts";
import { isRecord, type JsonRecord } from "./json.ts";
import { PLAN } from "./plan.ts";
import { runSection } from "./run.ts";
import { loadSuite, type SuiteCase, type SuiteSection } from "./suite.ts";

/** An altered copy of a case, and where it was altered. */
interface Mutant {
  readonly at: string;
  readonly value: JsonRecord;
}

/** Words that have an opposite; any other text is lengthened. */
const OPPOSITES: ReadonlyMap<unknown, string> = new Map([
  ["ok", "poison"],
  ["poison", "ok"],
  ["no_identity", "ok"],
  ["decode", "reject"],
  ["reject", "decode"],
  ["retry", "drop"],
  ["drop", "retry"],
  ["dlq", "drop"],
  ["ack", "dlq_raw"],
  ["native", "ack"],
  ["dlq_raw", "ack"],
  ["unsettled", "ack"],
]);

/** Members that state what has to come out. */
const isExpectation = (name: string): boolean =>
  name.startsWith("expect") || ["valid", "forbidden_key", "offending_key"].includes(name);

/** Expectations that no check may read, or that hold only for a case of another kind. */
function isIdle(section: string, at: string, value: JsonRecord): boolean {
  const expected = isRecord(value["expect"]) ? value["expect"] : {};
  // Written for libraries without a dead-letter writer.
  if (at.endsWith("/outcome_no_writer")) return true;
  if (section === "poison_dlq" && at === "expect/shape") {
    return expected["shape"] !== "splice_or_wrapper";
  }
  if (expected["shape"] !== "splice_or_wrapper") return false;
  // One of the two forms applies: the wrapper only beyond the depth that can be spliced.
  const tooDeep = JSON.stringify(value).includes("a-thousand-and-one-levels");
  return at.startsWith("expect/splice_") ? tooDeep : at.startsWith("expect/record") && !tooDeep;
}

function* mutants(value: JsonRecord): Generator<Mutant> {
  for (const [name, expected] of Object.entries(value)) {
    if (!isExpectation(name)) continue;
    for (const { at, altered } of alterations(expected, name)) {
      yield { at, value: { ...value, [name]: altered } };
    }
  }
}

function* alterations(value: unknown, at: string): Generator<{ at: string; altered: unknown }> {
  if (typeof value === "boolean") yield { at, altered: !value };
  else if (typeof value === "number") yield { at, altered: value + 1 };
  else if (value === null) yield { at, altered: 0 };
  else if (typeof value === "string") yield { at, altered: OPPOSITES.get(value) ?? `${value}~` };
  else if (Array.isArray(value)) {
    // Of a list of pointers that must lead nowhere, one more that leads to the identity.
    yield { at: `${at}/+`, altered: [...value, "/job"] };
  } else if (isRecord(value)) {
    for (const [name, inner] of Object.entries(value)) {
      if (name === "min") continue; // the range's lower end is 0 for every jitter
      for (const change of alterations(inner, `${at}/${name}`)) {
        yield { at: change.at, altered: { ...value, [name]: change.altered } };
      }
    }
  }
}

const suite = loadSuite(OWN_SUITE);

async function outcomeOf(section: SuiteSection, item: SuiteCase, value: JsonRecord) {
  const changed = { ...section, cases: [{ ...item, value }] };
  const { outcomes } = await runSection(changed, suite, {
    bindings: [],
    plan: PLAN,
    exists: () => false,
  });
  return outcomes[0]?.status;
}

for (const section of suite.sections) {
  test(`a check of section ${section.name} notices every altered expectation`, async () => {
    const unnoticed: string[] = [];
    let altered = 0;
    let reachable = false;
    for (const item of section.cases ?? []) {
      const status = await outcomeOf(section, item, item.value);
      if (status !== "absent") reachable = true;
      if (status !== "pass") continue;
      for (const { at, value } of mutants(item.value)) {
        if (isIdle(section.name, at, value)) continue;
        altered++;
        const status = await outcomeOf(section, item, value);
        if (status !== "fail") unnoticed.push(`${item.id}: ${at}`);
      }
    }
    assert.deepEqual(unnoticed, []);
    const built = !("needs" in (PLAN[section.name] ?? {}));
    // Where every case needs a server there is nothing to alter here.
    assert.equal(altered > 0, built && reachable, "nothing was altered");
  });
}

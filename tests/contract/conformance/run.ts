/**
 * Runs a suite through a plan. What is in scope counts for the results file; what belongs to a
 * binding that is not carried yet runs as far as its parts stand, and is only printed.
 *
 * @module
 */

import type { Suite, SuiteCase, SuiteSection } from "./suite.ts";

/** Checks one case: throws when it fails, {@linkcode SkippedCase} when it may be left out. */
export type CaseCheck = (
  item: SuiteCase,
  suite: Suite,
  servers?: Servers,
) => void | Promise<void>;

/** Where live servers are; each is asked for when a case needs it, and undefined when there is none. */
export interface Servers {
  /** URL of an Artemis. */
  artemis?(): Promise<string | undefined>;
  /** Port of a Kafka on 127.0.0.1. */
  kafka?(): Promise<number | undefined>;
  /** Port of a Redis on 127.0.0.1. */
  redis?(): Promise<number | undefined>;
  /** URL of a RabbitMQ. */
  rabbitmq?(): Promise<string | undefined>;
}

/** How a section or one of its blocks is run: by a check, or not before the named file exists. */
export type PlanEntry = { readonly check: CaseCheck } | { readonly needs: string };

/** One entry for a whole section, or one a block; `cases` is the section's own list. */
export type SectionPlan = PlanEntry | { readonly blocks: { readonly [block: string]: PlanEntry } };

/** Which section is run by what. */
export type Plan = { readonly [section: string]: SectionPlan };

/** Thrown by a check for a case that a decision record allows to leave out. Contract: T4. */
export class SkippedCase extends Error {
  /**
   * @param record The decision record, `ADR-NNNN`.
   * @param why Why the case cannot be run here.
   */
  constructor(record: string, why: string) {
    super(`${record}: ${why}`);
    if (!/^ADR-[0-9]{4}$/.test(record)) throw new Error(`'${record}' is no decision record`);
  }
}

/** Thrown by a check that needs a server which is not there and not required: the case gets no result. Contract: T2. */
export class AbsentServer extends Error {}

/** What became of one case. `unbuilt`: what it tests does not exist yet. `absent`: its server does not. */
export interface CaseOutcome {
  readonly id: string;
  readonly status: "pass" | "fail" | "skip" | "unbuilt" | "absent";
  readonly reason?: string;
}

/** What became of one section. */
export interface SectionOutcome {
  readonly name: string;
  readonly scope: string;
  /** Whether the results file lists it. */
  readonly inScope: boolean;
  readonly outcomes: readonly CaseOutcome[];
  /** Why the whole run fails because of this section, beside its failing cases. */
  readonly problem?: string;
}

/** What a run is about. */
export interface RunOptions {
  /** The bindings that are carried; `core` always is. */
  readonly bindings: readonly string[];
  /** Which section is run by what. */
  readonly plan: Plan;
  /** Whether a file of the repository exists: a part that a plan still waits for must not. */
  exists(path: string): boolean;
  /** Where live servers are. */
  readonly servers?: Servers;
}

/** Runs every section of a suite. */
export async function runSuite(
  suite: Suite,
  options: RunOptions,
): Promise<readonly SectionOutcome[]> {
  const outcomes: SectionOutcome[] = [];
  for (const section of suite.sections) outcomes.push(await runSection(section, suite, options));
  return outcomes;
}

/** Runs one section. Contract: T1. */
export async function runSection(
  section: SuiteSection,
  suite: Suite,
  options: RunOptions,
): Promise<SectionOutcome> {
  const { name } = section;
  const scope = section.scope ?? "unknown";
  const inScope = scope === "core" || options.bindings.includes(scope);
  const about = { name, scope, inScope };
  if (section.scope === undefined) {
    return { ...about, outcomes: [], problem: "the manifest gives the section no scope" };
  }
  const plan = Object.hasOwn(options.plan, name) ? options.plan[name] : undefined;
  if (section.cases === undefined) {
    return inScope
      ? { ...about, outcomes: [], problem: "the manifest announces the section and lacks it" }
      : { ...about, outcomes: [] };
  }
  if (plan === undefined && !inScope) return { ...about, outcomes: [] };
  const outcomes: CaseOutcome[] = [];
  const seen = new Set<string>();
  const problems = new Set<string>();
  if (plan === undefined) problems.add("the runner does not know the section");
  for (const item of section.cases) {
    if (seen.has(item.id)) problems.add(`two cases are called '${item.id}'`);
    seen.add(item.id);
    const entry = entryOf(plan, item.block);
    if (entry !== undefined && "needs" in entry && options.exists(entry.needs)) {
      problems.add(`${entry.needs} exists, and nothing runs '${item.block}' yet`);
    }
    if (entry === undefined && !inScope) continue; // a later block of a binding that is not carried
    outcomes.push(await runCase(item, suite, entry, options.servers ?? {}));
  }
  return problems.size === 0
    ? { ...about, outcomes }
    : { ...about, outcomes, problem: [...problems].join("; ") };
}

function entryOf(plan: SectionPlan | undefined, block: string): PlanEntry | undefined {
  if (plan === undefined) return undefined;
  if (!("blocks" in plan)) return plan;
  return Object.hasOwn(plan.blocks, block) ? plan.blocks[block] : undefined;
}

async function runCase(
  item: SuiteCase,
  suite: Suite,
  entry: PlanEntry | undefined,
  servers: Servers,
): Promise<CaseOutcome> {
  const { id } = item;
  if (entry === undefined) {
    return { id, status: "fail", reason: `the runner does not know '${item.block}'` };
  }
  if ("needs" in entry) {
    return { id, status: "unbuilt", reason: `not built yet: needs ${entry.needs}` };
  }
  try {
    await entry.check(item, suite, servers);
    return { id, status: "pass" };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof AbsentServer) return { id, status: "absent", reason };
    return { id, status: error instanceof SkippedCase ? "skip" : "fail", reason };
  }
}

/** How many cases have a status. */
export function countOf(
  sections: readonly SectionOutcome[],
  status: CaseOutcome["status"],
): number {
  return sections.reduce(
    (sum, { outcomes }) => sum + outcomes.filter((outcome) => outcome.status === status).length,
    0,
  );
}

/** Everything that makes a run fail, one line each. */
export function failuresOf(sections: readonly SectionOutcome[]): readonly string[] {
  return sections.flatMap(({ name, outcomes, problem }) => [
    ...(problem === undefined ? [] : [`${name}: ${problem}`]),
    ...outcomes.filter(({ status }) => status === "fail")
      .map(({ id, reason }) => `${name} / ${id}: ${reason}`),
  ]);
}

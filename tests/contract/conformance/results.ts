/**
 * The results file of a run, in the suite's own format.
 *
 * @module
 */

import type { CaseOutcome, SectionOutcome } from "./run.ts";

/** Result of one case. */
export interface CaseResult {
  readonly status: "pass" | "fail" | "skip";
  readonly reason?: string;
}

/** The results file. Contract: T3. */
export interface Results {
  readonly sdk: string;
  readonly version: string;
  readonly conformance_version: string;
  readonly generated_at: string;
  readonly bindings: readonly string[];
  readonly sections: { readonly [section: string]: { readonly [id: string]: CaseResult } };
}

/** What a results file says beside the results. */
export interface ResultsHeader {
  readonly sdk: string;
  readonly version: string;
  readonly conformanceVersion: string;
  readonly generatedAt: Date;
  readonly bindings: readonly string[];
}

/**
 * Makes the results file. Sections out of scope are absent, every case of a section in scope is
 * listed unless its server is absent, and a case whose subject is not built yet is a failed one: the
 * suite knows no fourth state.
 */
export function resultsOf(header: ResultsHeader, sections: readonly SectionOutcome[]): Results {
  return {
    sdk: header.sdk,
    version: header.version,
    conformance_version: header.conformanceVersion,
    generated_at: header.generatedAt.toISOString(),
    bindings: header.bindings,
    sections: Object.fromEntries(
      sections.filter(({ inScope }) => inScope).map(({ name, outcomes }) => [
        name,
        Object.fromEntries(outcomes.flatMap(resultOf)),
      ]),
    ),
  };
}

/** No entry for a case that could not run for want of a server. */
function resultOf({ id, status, reason }: CaseOutcome): readonly (readonly [string, CaseResult])[] {
  if (status === "absent") return [];
  const why = reason === undefined || reason === "" ? {} : { reason };
  return [[id, { status: status === "unbuilt" ? "fail" : status, ...why }]];
}

/**
 * What a run prints.
 *
 * @module
 */

import { countOf, failuresOf, type SectionOutcome } from "./run.ts";
import type { Suite } from "./suite.ts";

/** The lines of the report. */
export function reportOf(
  suite: Suite,
  sections: readonly SectionOutcome[],
  bindings: readonly string[],
): readonly string[] {
  const scoped = sections.filter(({ inScope }) => inScope);
  const ahead = sections.filter((section) => !section.inScope && section.outcomes.length > 0);
  const unbuilt = scoped.filter((section) => countOf([section], "unbuilt") > 0);
  const failures = failuresOf(sections);
  const absent = countOf(sections, "absent");
  return [
    `conformance suite ${suite.version} (${suite.folder})`,
    `in scope: core${bindings.map((name) => `, ${name}`).join("")}`,
    ...scoped.map(lineOf),
    ...(ahead.length === 0 ? [] : [
      "ahead of their transports, not part of the results file:",
      ...ahead.map(lineOf),
    ]),
    ...failures.map((failure) => `FAILED ${failure}`),
    [
      `${countOf(sections, "pass")} passed`,
      `${failures.length} failed`,
      `${countOf(sections, "skip")} skipped`,
      `${countOf(sections, "unbuilt")} not built yet`,
      ...(absent === 0 ? [] : [`${absent} LEFT OUT for want of a server`]),
    ].join(", "),
    ...(unbuilt.length === 0 ? [] : [
      `NOT BUILT YET, so not claimed: ${unbuilt.map(({ name }) => name).join(", ")}; ` +
      "their cases are failures in the results file",
    ]),
  ];
}

function lineOf(section: SectionOutcome): string {
  const { name, outcomes } = section;
  const passed = countOf([section], "pass");
  const failed = countOf([section], "fail");
  const reasons = new Map<string, number>();
  for (const { status, reason = "" } of outcomes) {
    if (status === "pass" || status === "fail") continue;
    const note = status === "skip" ? `skipped: ${reason}` : reason;
    reasons.set(note, (reasons.get(note) ?? 0) + 1);
  }
  const parts = [
    ...(passed > 0 ? [`${passed} passed`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...[...reasons].map(([note, count]) => `${count} ${note}`),
  ];
  return `  ${name.padEnd(24)}${parts.join("; ") || "no case"}`;
}

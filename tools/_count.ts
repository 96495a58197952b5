/** Reads how many tests passed out of what a runner printed. */

/** How a run ended. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Form {
  readonly passed: RegExp;
  readonly failed: RegExp;
  readonly skipped: RegExp;
}

const FORMS: readonly Form[] = [
  // deno test: "ok | 3 passed (2 steps) | 0 failed | 1 ignored (12ms)"
  {
    passed: /^(?:ok|FAILED) \| (\d+) passed/m,
    failed: /^(?:ok|FAILED) \|.*\| (\d+) failed/m,
    skipped: /^(?:ok|FAILED) \|.*\| (\d+) ignored/m,
  },
  // bun test: " 3 pass"
  { passed: /^ *(\d+) pass$/m, failed: /^ *(\d+) fail$/m, skipped: /^ *(\d+) skip$/m },
  // node --test: "ℹ pass 3"
  { passed: /^[#ℹ] pass (\d+)$/m, failed: /^[#ℹ] fail (\d+)$/m, skipped: /^[#ℹ] skipped (\d+)$/m },
];

/** What the runners print for each test as they go; steps and subtests are indented and not counted. */
const LINES: Readonly<Record<keyof Counts, RegExp>> = {
  passed: /^(?:✔ .*|\(pass\) .*|\S.* \.\.\. ok \(.*\))$/gm,
  failed: /^(?:✖ .*|\(fail\) .*|\S.* \.\.\. FAILED \(.*\))$/gm,
  skipped: /^(?:﹣ .*|\(skip\) .*|\S.* \.\.\. ignored \(.*\))$/gm,
};

/**
 * Counts a run. A run that failed without saying which test, or that ran nothing, failed once; one
 * that was killed before its summary has its tests counted line by line, and failed once more.
 */
export function count(output: string, code: number): Counts {
  const form = FORMS.find(({ passed }) => passed.test(output));
  if (form === undefined && code !== 0) {
    const lines = (pattern: RegExp): number => output.match(pattern)?.length ?? 0;
    const { passed, failed, skipped } = LINES;
    return { passed: lines(passed), failed: lines(failed) + 1, skipped: lines(skipped) };
  }
  const read = (pattern?: RegExp): number => Number(pattern?.exec(output)?.[1] ?? 0);
  const passed = read(form?.passed);
  const cancelled = read(/^[#ℹ] cancelled (\d+)$/m);
  const failed = read(form?.failed) + cancelled;
  const skipped = read(form?.skipped);
  if (failed === 0 && (code !== 0 || passed + skipped === 0)) return { passed, failed: 1, skipped };
  return { passed, failed, skipped };
}

/** What the runners print for a test that passed, and for a file that they begin. */
const PASSED = /^( *(✔|\(pass\)|﹣) .*|.* \.\.\. (ok|ignored) \(.*\)|running \d+ tests? from .*)$/;

/** The output without the lines about tests that passed. */
export function withoutPassed(output: string): string {
  return output.split("\n").filter((line) => !PASSED.test(line)).join("\n");
}

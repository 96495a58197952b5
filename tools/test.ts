/**
 * Runs the tests on every runtime and adds up the counts. Without arguments all runners run; with
 * names only those: `deno task test bun node22`. What comes after `--` goes to the runner in place
 * of its own files: `deno task test deno -- tests/core/gate_test.ts`.
 *
 * Runtimes that are not installed are installed first, from the lock file, into `node_modules`.
 *
 * @module
 */

import { runtimePath } from "../tests/harness.ts";
import { count, withoutPassed } from "./_count.ts";
import { deno, root, run } from "./_shell.ts";
import { type Runner, RUNNERS } from "./_runners.ts";

const separator = Deno.args.indexOf("--");
const names = separator < 0 ? Deno.args : Deno.args.slice(0, separator);
const files = separator < 0 ? [] : Deno.args.slice(separator + 1);

const unknown = names.filter((name) => !RUNNERS.some((runner) => runner.name === name));
if (unknown.length > 0) {
  console.error(`Cannot run '${unknown[0]}': choose of ${RUNNERS.map((r) => r.name).join(", ")}`);
  Deno.exit(2);
}

const wanted = RUNNERS.filter(({ name, alone }) =>
  names.length === 0 ? alone !== true : names.includes(name)
);
await installRuntimes();

/** A runner that has not ended by then is stopped; Node names the file that hangs. */
const RUNNER_MS = 3_600_000;

let passed = 0;
let failed = 0;
// Two lanes, since most tests wait: all but the simulation on Deno, beside it the others in turn.
await Promise.all([
  lane(wanted.filter(({ name }) => name === "deno")),
  lane(wanted.filter(({ name }) => name !== "deno")),
]);
console.log(`${passed} passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);

async function lane(runners: readonly Runner[]): Promise<void> {
  for (const runner of runners) {
    const result = await runOne(runner);
    passed += result.passed;
    failed += result.failed;
  }
}

async function runOne(runner: Runner): Promise<{ passed: number; failed: number }> {
  const program = runtimePath(runner.runtime);
  if (program === null) {
    const required = Deno.env.get("BQ_REQUIRE_BROKERS") === "1";
    console.log(`${runner.name.padEnd(8)} skipped: ${runner.runtime} is not installed`);
    return { passed: 0, failed: required ? 1 : 0 };
  }
  const args = runner.args(files.length > 0 ? files : runner.files());
  const { code, output, seconds } = await run(program, args, { timeoutMs: RUNNER_MS });
  await Deno.mkdir(`${root}.out`, { recursive: true });
  await Deno.writeTextFile(`${root}.out/test-${runner.name}.log`, output);
  const counted = count(output, code);
  if (counted.failed > 0) console.log(withoutPassed(output));
  const skipped = counted.skipped > 0 ? `, ${counted.skipped} skipped` : "";
  console.log(
    `${runner.name.padEnd(8)} ${counted.passed} passed, ${counted.failed} failed${skipped} ` +
      `(${seconds.toFixed(1)} s)`,
  );
  return counted;
}

/** A clone that has only Deno gets the other runtimes by npm's own program, run by Deno. */
async function installRuntimes(): Promise<void> {
  const missing = ["bun", "node22", "node24"] as const;
  if (Deno.build.os !== "linux" || !missing.some((name) => runtimePath(name) === null)) return;
  console.log("installing the runtimes that the tests need into node_modules …");
  const npm = ["run", "--no-lock", "-A", "npm:npm@11", "ci", "--ignore-scripts", "--no-fund"];
  const { code, output } = await deno(npm);
  if (code !== 0) console.error(output);
}

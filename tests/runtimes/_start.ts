/** How each runtime starts a program of `programs/`. */

import { child, type ChildResult, requireOrSkip, type Runtime, runtimePath } from "../harness.ts";

/** The runtimes, in the order they are tested. */
export const RUNTIMES: readonly Runtime[] = ["deno", "bun", "node22", "node24"];

const START: Readonly<Record<Runtime, readonly string[]>> = {
  deno: ["run", "--no-prompt", "--allow-read", "--v8-flags=--expose-gc"],
  bun: ["run"],
  node22: ["--disable-warning=ExperimentalWarning", "--expose-gc"],
  node24: ["--expose-gc"],
};

/** Runs a program to its end. It has a minute, and then did not exit by itself. */
export function start(runtime: Runtime, program: string): Promise<ChildResult> {
  const path = `tests/runtimes/programs/${program}`;
  return child(runtime, [...START[runtime], path], { timeoutMs: 60_000 });
}

/** Whether tests on a runtime have to be skipped because it is not installed. */
export function absent(runtime: Runtime): boolean {
  return requireOrSkip(runtime, runtimePath(runtime) !== null, "run 'npm ci'");
}

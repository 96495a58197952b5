/** How each runtime starts a program of `programs/`. */

import process from "node:process";
import { child, type ChildResult, requireOrSkip, type Runtime, runtimePath } from "../harness.ts";

const ALL: readonly Runtime[] = ["deno", "bun", "node22", "node24"];

/** The runtimes, in the order they are tested: Deno's runner tests all, another one its own. */
export const RUNTIMES: readonly Runtime[] = process.versions["deno"] !== undefined
  ? ALL
  : ALL.filter((runtime) => runtimePath(runtime) === process.execPath);

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

/** The examples that need a broker, as a reader would run them. */

import assert from "node:assert/strict";
import { child, requireOrSkip, type Runtime, runtimePath, test } from "./harness.ts";

/** What the examples of one broker are to show. */
export interface BrokerExamples {
  /** The broker, in titles. */
  readonly name: string;
  /** The first word of the files: `examples/<files>_producer.ts` and `examples/<files>_worker.ts`. */
  readonly files: string;
  /** Whether its tests are skipped. */
  readonly ignore: boolean;
  /** What the broker's client asks for under Deno beside the network. @default {NEEDS} */
  readonly needs?: readonly string[];
  /** Where the broker is, inside tests. */
  url(): string;
  /** Names a queue that nobody used before. */
  queue(): string;
  /** What the worker prints beside its end in order. */
  readonly prints: readonly RegExp[];
  /** What the worker may not print. */
  readonly omits?: RegExp;
}

/** Clients that read files of their own, and look for variables that may be absent. */
const NEEDS: readonly string[] = ["--allow-read", "--ignore-env"];

/** Runs an example, which has to end by itself, and gives what it printed. */
export async function runExample(
  runtime: Runtime,
  name: string,
  args: readonly string[],
  needs: readonly string[] = NEEDS,
): Promise<string> {
  const start: Readonly<Record<Runtime, readonly string[]>> = {
    deno: ["run", "--no-prompt", "--allow-net=127.0.0.1", ...needs],
    bun: ["run"],
    node22: [],
    node24: [],
  };
  const ended = await child(runtime, [...start[runtime], `examples/${name}`, ...args]);
  assert.equal(ended.timedOut, false, `it did not end by itself: ${ended.stdout}${ended.stderr}`);
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  return ended.stdout;
}

/** Registers a test on each runtime: the producer publishes, and the worker handles it all. */
export function exampleTests(examples: BrokerExamples): void {
  const { name, files, ignore, needs, prints, omits } = examples;
  for (const runtime of ["deno", "bun", "node22", "node24"] as const) {
    const absent = requireOrSkip(runtime, runtimePath(runtime) !== null, "run 'npm ci'");
    test(`the examples for ${name} work and end by themselves on ${runtime}`, async () => {
      const place = [examples.url(), examples.queue()];
      const published = await runExample(runtime, `${files}_producer.ts`, place, needs);
      assert.match(published, /published 3 more/);
      const worked = await runExample(runtime, `${files}_worker.ts`, [...place, "5"], needs);
      for (const line of prints) assert.match(worked, line);
      assert.match(worked, /stopped in order/);
      if (omits !== undefined) assert.doesNotMatch(worked, omits);
    }, { ignore: ignore || absent });
  }
}

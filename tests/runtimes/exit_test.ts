import assert from "node:assert/strict";
import { test } from "../harness.ts";
import { absent, RUNTIMES, start } from "./_start.ts";

const PROGRAMS: readonly [what: string, program: string][] = [
  ["imports every entry point", "import.ts"],
  ["only publishes", "publish.ts"],
  ["handles, retries and dead-letters with consume()", "consume.ts"],
  ["works with run() until it is stopped", "run.ts"],
];

for (const runtime of RUNTIMES) {
  const ignore = absent(runtime);
  for (const [what, program] of PROGRAMS) {
    test(`a process on ${runtime} that ${what} exits by itself`, async () => {
      const ended = await start(runtime, program);
      assert.equal(ended.timedOut, false, `still running: ${ended.stdout}${ended.stderr}`);
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      assert.equal(ended.stdout.trim(), "done");
    }, { ignore, timeoutMs: 90_000 });
  }
}

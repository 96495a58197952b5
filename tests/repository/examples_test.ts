import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { child, requireOrSkip, type Runtime, runtimePath, test } from "../harness.ts";

const folder = new URL("../../examples/", import.meta.url);
const examples = existsSync(folder)
  // Those that need a broker are run where one is: tests/<broker>/examples_test.ts.
  ? readdirSync(folder).filter((name) =>
    /^(?!_|redis_|rabbitmq_|artemis_|kafka_).*\.ts$/.test(name)
  ).sort()
  : [];

const START: Readonly<Record<Runtime, readonly string[]>> = {
  deno: ["run", "--no-prompt"],
  bun: ["run"],
  node22: [],
  node24: [],
};

test("there are examples", () => assert.notDeepEqual(examples, []));

for (const runtime of Object.keys(START) as Runtime[]) {
  const ignore = requireOrSkip(runtime, runtimePath(runtime) !== null, "run 'npm ci'");
  for (const example of examples) {
    test(`examples/${example} runs on ${runtime} and ends by itself`, async () => {
      const ended = await child(runtime, [...START[runtime], `examples/${example}`]);
      assert.equal(ended.timedOut, false, "it did not end by itself");
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      assert.notEqual(ended.stdout, "", "it printed nothing");
    }, { ignore });
  }
}

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

test("the demo shows messages handled, retried, dead-lettered and looked at", async () => {
  const { stdout } = await child("deno", ["run", "--no-prompt", "examples/demo.ts"]);
  for (
    const line of [
      "Publishing three messages",
      "  handled: order 1042, attempt 1",
      "  retried: attempt 1 of urn:babel:orders:paid failed",
      "  handled: payment of order 1042, attempt 2",
      "  dead-lettered to 'orders.dlq': urn:babel:orders:shipped (failed)",
      "Looking at 'orders.dlq'",
    ]
  ) assert.ok(stdout.split("\n").includes(line), `${line}\n${stdout}`);
  const record = JSON.parse(stdout.slice(stdout.indexOf("\n{\n"), stdout.lastIndexOf("}") + 1));
  assert.deepEqual([record.attempts, record.dead_letter.reason], [3, "failed"]);
});

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

import assert from "node:assert/strict";
import process from "node:process";
import { Worker } from "node:worker_threads";
import { shutdownSignal } from "@bq/core/process";
import { child, type ChildResult, type Runtime, test } from "../harness.ts";

const { deno, bun, node } = process.versions as Record<string, string | undefined>;
const runtime: Runtime = deno !== undefined
  ? "deno"
  : bun !== undefined
  ? "bun"
  : node?.startsWith("22.")
  ? "node22"
  : "node24";
const before = runtime === "deno" ? ["run", "--no-prompt", "--allow-read", "--allow-run"] : [];

/** Runs a scenario of the program on this runtime. */
function run(...scenario: readonly string[]): Promise<ChildResult> {
  return child(runtime, [...before, "tests/runtime/_signals.ts", ...scenario]);
}

for (const signals of [["SIGTERM", "SIGTERM"], ["SIGINT", "SIGINT"], ["SIGINT", "SIGTERM"]]) {
  test(`shutdownSignal(): ${signals[0]} is the request to stop, ${signals[1]} after it forces`, async () => {
    const { stdout, stderr, timedOut } = await run("send", ...signals);
    assert.equal(timedOut, false, stderr);
    assert.deepEqual(stdout.trim().split("\n"), [
      "stop=false force=false",
      "stop=true force=false",
      "stop=true force=true",
    ]);
  });
}

test("shutdownSignal(): a third signal finds nobody listening and ends the process", async () => {
  const { stdout, code, timedOut } = await run("send", "SIGTERM", "SIGTERM", "SIGTERM");
  assert.equal(stdout.trim().split("\n").length, 3);
  assert.equal(timedOut, false);
  // Ended by a signal: no exit code, or that of the signal where the runtime says it so.
  assert.ok(code === null || code === 143, String(code));
});

test("shutdownSignal(): dispose() ends one listener and leaves the other", async () => {
  const { stdout, code } = await run("dispose");
  assert.deepEqual(stdout.trim().split("\n"), ["stop=false force=false", "stop=true force=false"]);
  assert.equal(code, 0);
});

test("a worker with both signals finishes on the first and gives back on the second", async () => {
  const { stdout, stderr, code } = await run("work");
  assert.deepEqual(stdout.trim().split("\n"), [
    "in flight: 1",
    "ready: 2, in flight: 0, returned: 1",
  ], stderr);
  assert.equal(code, 0);
});

if (runtime !== "deno") {
  test("listening alone keeps no process alive", async () => {
    const { timedOut, code } = await run("listen");
    assert.deepEqual([timedOut, code], [false, 0]);
  });
}

test("shutdownSignal() says so where a runtime has no process signals", () => {
  const scope = globalThis as { Deno?: unknown; process?: unknown };
  const hidden = ["Deno", "process"].map((name) =>
    [name, Object.getOwnPropertyDescriptor(scope, name)] as const
  );
  try {
    for (const [name, descriptor] of hidden) {
      if (descriptor) Object.defineProperty(scope, name, { value: undefined, configurable: true });
    }
    assert.throws(
      shutdownSignal,
      /^Error: Cannot listen for process signals: there are none here$/,
    );
  } finally {
    for (const [name, descriptor] of hidden) {
      if (descriptor) Object.defineProperty(scope, name, descriptor);
    }
  }
});

if (runtime !== "deno") {
  test("shutdownSignal() says so in a thread, where no signal ever comes", async () => {
    const thread = new Worker(new URL("./_signal_thread.ts", import.meta.url));
    const said = await new Promise((resolve, reject) => {
      thread.once("message", resolve);
      thread.once("error", reject);
    });
    await thread.terminate();
    assert.equal(said, "Error: Cannot listen for process signals: there are none here");
  });
}

import assert from "node:assert/strict";
import { run } from "../../tools/_shell.ts";
import { test } from "../harness.ts";

test("a program that runs past its time is killed, and what it printed is kept", async () => {
  // The child outlives its parent and holds the output open.
  const script = "echo begun; sleep 25 & echo warned >&2; wait";
  const { code, output, stdout, seconds } = await run("sh", ["-c", script], { timeoutMs: 1_000 });
  assert.equal(stdout, "begun\n");
  assert.equal(output, "begun\nwarned\n\nkilled after 1000 ms\n");
  assert.equal(code, 143);
  assert.ok(seconds < 20, `${seconds} s`);
});

test("a program that does not exist ends with 127", async () => {
  assert.equal((await run("no-such-program", [])).code, 127);
});

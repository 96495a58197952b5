import assert from "node:assert/strict";
import { count } from "../../tools/_count.ts";
import { test } from "../harness.ts";

const RUNS: readonly [runner: string, output: string, expected: [number, number, number]][] = [
  ["deno", "a ... ok (1ms)\n\nok | 12 passed | 0 failed (12ms)\n", [12, 0, 0]],
  ["deno", "ok | 3 passed (2 steps) | 0 failed | 4 ignored (2s)\n", [3, 0, 4]],
  ["deno", "FAILED | 3 passed | 2 failed | 1 ignored (6s)\n", [3, 2, 1]],
  ["bun", "bun test v1.4.5\n\n 5 pass\n 2 skip\n 1 fail\nRan 8 tests\n", [5, 1, 2]],
  ["bun", " 5 pass\n 0 fail\n", [5, 0, 0]],
  ["node", "ℹ tests 8\nℹ pass 5\nℹ fail 1\nℹ cancelled 0\nℹ skipped 2\n", [5, 1, 2]],
  ["node", "ℹ tests 8\nℹ pass 5\nℹ fail 0\nℹ cancelled 3\nℹ skipped 0\n", [5, 3, 0]],
];

for (const [runner, output, [passed, failed, skipped]] of RUNS) {
  test(`counts what ${runner} printed: ${passed} passed, ${failed} failed, ${skipped} skipped`, () => {
    assert.deepEqual(count(output, failed === 0 ? 0 : 1), { passed, failed, skipped });
  });
}

const KILLED: readonly [runner: string, output: string][] = [
  [
    "deno",
    "running 4 tests from ./a_test.ts\none ... ok (1ms)\n" +
    "two ...\n  a step ... ok (1ms)\ntwo ... ok (2ms)\nthree ... FAILED (1ms)\n" +
    "four ... ignored (0ms)\nfive ...",
  ],
  ["bun", "a_test.ts:\n(pass) one [1.00ms]\n(pass) two [1.00ms]\n(fail) three\n(skip) four\n"],
  ["node", "✔ one (1.1ms)\n✔ two (1.1ms)\n  ✔ nested (1ms)\n✖ three (1ms)\n﹣ four (0ms) # SKIP\n"],
];

for (const [runner, output] of KILLED) {
  test(`a run of ${runner} that was killed counts what it printed so far, and one failure more`, () => {
    const killed = `${output}\nkilled after 1000 ms\n`;
    assert.deepEqual(count(killed, 143), { passed: 2, failed: 2, skipped: 1 });
  });
}

test("a run that ended with an error counts as one failure, whatever it printed", () => {
  assert.deepEqual(count("error: Module not found", 1), { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(count("ok | 3 passed | 0 failed (1ms)", 1), {
    passed: 3,
    failed: 1,
    skipped: 0,
  });
});

test("a run without a single test counts as one failure", () => {
  assert.deepEqual(count("ok | 0 passed | 0 failed (1ms)", 0), {
    passed: 0,
    failed: 1,
    skipped: 0,
  });
});

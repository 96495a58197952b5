import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { environment, test } from "../harness.ts";
import { FAULTS } from "./_faults.ts";
import { simulate } from "./_history.ts";
import { MUTANTS } from "./_mutants.ts";
import { expectGreen, report } from "./_report.ts";

const SEEDS = Number(environment("BQ_SIM_SEEDS") ?? 10_000);
const SEEDS_A_TEST = 1_000;

for (let first = 1; first <= SEEDS; first += SEEDS_A_TEST) {
  const last = Math.min(SEEDS, first + SEEDS_A_TEST - 1);
  test(`every rule holds in the simulated histories of seeds ${first} to ${last}`, async () => {
    for (let seed = first; seed <= last; seed++) {
      await expectGreen(seed);
      if (seed % 50 === 0) await turn();
    }
  }, { timeoutMs: 900_000 });
}

test("a seed always gives the same simulated history", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const [first, second] = [await simulate(seed, true), await simulate(seed, true)];
    assert.deepEqual(second.trace, first.trace);
    assert.equal((await simulate(seed)).steps, first.steps);
    await turn();
  }
}, { timeoutMs: 300_000 });

test(
  "the simulated histories reach every fault, every verdict and every end of a message",
  async () => {
    const seen = new Set<string>();
    // The rarest fault strikes in one history of 250.
    for (let seed = 1; seed <= 2_000; seed++) {
      for (const what of (await simulate(seed)).seen) seen.add(what);
      if (seed % 50 === 0) await turn();
    }
    const wanted = [
      ...FAULTS.map((fault) => `fault ${fault}`),
      ...VERDICTS.map((verdict) => `verdict ${verdict}`),
      ...EVENTS.map((event) => `event ${event}`),
    ];
    assert.deepEqual(wanted.filter((what) => !seen.has(what)), []);
  },
  { timeoutMs: 300_000 },
);

test("the report of a simulated history ends with the command that plays it again", async () => {
  const lines = (await report(7)).split("\n");
  assert.match(lines[0] ?? "", /plan/);
  assert.equal(lines.at(-1), "again: deno task sim --seed 7 --trace");
});

test("every known fault of the mutants still has its place in the runtime", () => {
  for (const { name, file, text } of MUTANTS) {
    const code = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    assert.equal(code.split(text).length - 1, 1, `${name}: its text stands once in ${file}`);
  }
});

test("docs/testing.md lists every known fault, found within the seeds of CI", () => {
  const page = readFileSync(new URL("../../docs/testing.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| (\S.*?) +\| +(\d+) \| \S/gm)];
  assert.deepEqual(rows.map(([, name]) => name), MUTANTS.map(({ name }) => name));
  assert.deepEqual(rows.filter(([, , seeds]) => !(Number(seeds) <= 10_000)), []);
});

const VERDICTS = ["ack", "retry", "release", "return", "leave", "deadLetter", "deadLetterNatively"];
const EVENTS = [
  "handled",
  "failed",
  "unknownUrn",
  "poison",
  "gated",
  "retried",
  "released",
  "returned",
  "left",
  "deadLettered",
  "dropped",
  "leaseLost",
  "expired",
  "writeFailed",
  "settleFailed",
  "lateResult",
  "receiveFailed",
  "shutdownTimedOut",
];

/** A history runs on promise jobs alone; between some of them the runner gets its turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

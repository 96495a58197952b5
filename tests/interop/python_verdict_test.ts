/** Verdicts on bodies, and retries of them, beside those of the published Python SDK. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "../harness.ts";
import { canonical } from "../core/_documents.ts";
import { absentPython } from "./python.ts";
import { bodies, everyMember } from "./python_verdict/_bodies.ts";
import { compare, type Disagreement } from "./python_verdict/_comparison.ts";
import { DIFFERENCES, explanations } from "./python_verdict/_differences.ts";
import { type PythonAnswer, type PythonJudge, startJudge } from "./python_verdict/_python.ts";

const ignore = await absentPython();
const encoder = new TextEncoder();

/** Bodies for each seed. */
const RUNS = 12_000;
/** Seed whose corpus is the same on every run; the other one is new each time. */
const FIXED_SEED = 1_240;
/** How much of a body is shown, in characters. */
const SHOWN = 2_000;

async function withJudge(use: (judge: PythonJudge) => Promise<void>): Promise<void> {
  const judge = await startJudge();
  try {
    await use(judge);
  } finally {
    await judge.close();
  }
}

/** What no documented difference accounts for. */
function unexplained(body: Uint8Array, answer: PythonAnswer): readonly Disagreement[] {
  return compare(body, answer).disagreements
    .filter((found) => explanations(found, body).length === 0);
}

function report(body: Uint8Array, found: readonly Disagreement[]): string {
  const lines = found.map(({ aspect, ours, theirs }) =>
    `  ${aspect}: ours ${JSON.stringify(ours)}, theirs ${JSON.stringify(theirs)}`.slice(0, SHOWN)
  );
  return [
    "Both sides differ where no rule lets them, on the body",
    `  ${JSON.stringify(new TextDecoder().decode(body)).slice(0, SHOWN)}`,
    `  in base64 ${Buffer.from(body).toString("base64").slice(0, SHOWN)}`,
    ...lines,
  ].join("\n");
}

/** Fails with the first body of a batch on which both sides differ. */
async function assertAgreement(judge: PythonJudge, batch: readonly Uint8Array[]): Promise<void> {
  const answers = await judge.judge(batch);
  for (const [index, body] of batch.entries()) {
    const found = unexplained(body, answers[index] as PythonAnswer);
    if (found.length > 0) assert.fail(report(body, found));
  }
}

/** Looks at a generated corpus in one batch; only a failing one is taken body by body, to shrink it. */
async function assertAgreementOn(judge: PythonJudge, seed: number): Promise<void> {
  const batch = fc.sample(bodies, { seed, numRuns: RUNS });
  const answers = await judge.judge(batch);
  const counts = { ok: 0, poison: 0 };
  const failing = batch.filter((body, index) => {
    const answer = answers[index] as PythonAnswer;
    counts[answer.verdict]++;
    return unexplained(body, answer).length > 0;
  });
  if (failing.length > 0) {
    const single = fc.asyncProperty(bodies, (body) => assertAgreement(judge, [body]));
    await fc.assert(single, { seed, numRuns: RUNS, includeErrorInReport: true });
    await assertAgreement(judge, failing);
  }
  assert.ok(counts.ok > RUNS / 5 && counts.poison > RUNS / 5, JSON.stringify(counts));
}

test(
  "verdicts and retries equal those of the Python SDK on a fixed corpus",
  () => withJudge((judge) => assertAgreementOn(judge, FIXED_SEED)),
  { ignore, timeoutMs: 120_000 },
);

test("verdicts and retries equal those of the Python SDK on a new corpus", () => {
  const seed = crypto.getRandomValues(new Int32Array(1))[0] ?? 0;
  console.log(`corpus of seed ${seed}`);
  return withJudge((judge) => assertAgreementOn(judge, seed));
}, { ignore, timeoutMs: 120_000 });

test(
  "verdicts equal those of the Python SDK for every member with every kind of value",
  () => withJudge((judge) => assertAgreement(judge, everyMember())),
  { ignore },
);

const SEVERAL = '{"urn":"u","job":"\\u006f","data":{"n":1.5e3,"n":[true,null]},"meta":' +
  '{"schema_version":1,"ts":1,"id":"\u00e9","ext":{"a":"b\\\\"}},"attempts":3,"dead_letter":null}';

test(
  "verdicts equal those of the Python SDK on every prefix and every flipped bit of a body",
  () =>
    withJudge((judge) => {
      const damaged = [canonical('{"n":"\u00e9","m":-1.5e3}'), SEVERAL].flatMap((text) => {
        const body = encoder.encode(text);
        return Array.from(body).flatMap((byte, at) => [
          body.slice(0, at),
          ...[1, 2, 4, 8, 16, 32, 64, 128].map((mask) => body.with(at, byte ^ mask)),
        ]);
      });
      return assertAgreement(judge, damaged);
    }),
  { ignore },
);

test(
  "every documented difference still shows in the Python SDK, and nothing else on its example",
  () =>
    withJudge(async (judge) => {
      const examples = DIFFERENCES.map(({ example }) =>
        typeof example === "string" ? encoder.encode(example) : example
      );
      await assertAgreement(judge, examples);
      const answers = await judge.judge(examples);
      const gone = DIFFERENCES.filter((difference, index) => {
        const body = examples[index] as Uint8Array;
        const { disagreements } = compare(body, answers[index] as PythonAnswer);
        return !disagreements.some((found) => explanations(found, body).includes(difference));
      });
      assert.deepEqual(gone.map(({ rule, name }) => `${rule}: ${name}`), []);
    }),
  { ignore },
);

/**
 * Plays simulated histories of the runtime: `deno task sim --seeds 10000`, one of them again with
 * `--seed 1234`, and with `--trace` every step of it. `--from` is the first seed of many.
 *
 * @module
 */

import { simulate } from "../tests/simulation/_history.ts";

const given = new Map<string, string>();
for (let i = 0; i < Deno.args.length; i++) {
  const arg = Deno.args[i]!;
  const next = Deno.args[i + 1];
  given.set(arg, arg === "--trace" || next === undefined ? "" : next);
  if (arg !== "--trace") i++;
}
const number = (name: string, otherwise: number): number => {
  const value = Number(given.get(name) ?? otherwise);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`Cannot simulate: ${name} must be a whole number, not '${given.get(name)}'`);
  Deno.exit(2);
};

const one = given.has("--seed");
const first = number(one ? "--seed" : "--from", 1);
const count = one ? 1 : number("--seeds", 1_000);
const most = number("--failures", 1);
const started = performance.now();
let failures = 0;
let steps = 0;
let played = 0;
for (let seed = first; seed < first + count && failures < most; seed++) {
  const history = await simulate(seed, given.has("--trace"));
  played++;
  steps += history.steps;
  for (const line of history.trace) console.log(line);
  if (history.violations.length === 0) continue;
  failures++;
  if (!given.has("--trace")) {
    const { trace } = await simulate(seed, true);
    console.log(most > 1 ? history.violations[0]! : trace.join("\n"));
  }
  console.log(`seed ${seed} breaks a rule; again: deno task sim --seed ${seed} --trace`);
}
const ms = performance.now() - started;
console.log(
  `${played} histories, ${steps} steps, ${failures} failures, ${(ms / played).toFixed(1)} ms each`,
);
Deno.exit(failures === 0 ? 0 : 1);

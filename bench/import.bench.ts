/**
 * Measures what importing the core adds to a process that does nothing, in time and in memory: child
 * processes with and without the import, taken in turn, and the medians of both.
 *
 * Run `deno run -A bench/import.bench.ts`, `bun bench/import.bench.ts` or `node bench/import.bench.ts`.
 *
 * @module
 */

import { spawnSync } from "node:child_process";
import process from "node:process";
import { runtime } from "./_measure.ts";

const ROUNDS = 15;
const LIMIT_MS = 30;
const LIMIT_MB = 8;

const core = new URL("../mod.ts", import.meta.url).href;
const measure = `
  const start = performance.now();
  IMPORT
  const ms = performance.now() - start;
  const { default: process } = await import("node:process");
  console.log(JSON.stringify([ms, process.memoryUsage().rss / 1e6]));
`;

/** Milliseconds and resident megabytes of one child. */
function child(withCore: boolean): readonly [number, number] {
  const program = measure.replace(
    "IMPORT",
    withCore ? `await import(${JSON.stringify(core)});` : "",
  );
  const args = runtime === "deno"
    ? ["eval", "--ext=ts", program]
    : runtime === "bun"
    ? ["-e", program]
    : ["--input-type=module", "-e", program];
  const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as [number, number];
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}

child(true); // fills the caches
const bare: (readonly [number, number])[] = [];
const full: (readonly [number, number])[] = [];
for (let round = 0; round < ROUNDS; round++) {
  bare.push(child(false));
  full.push(child(true));
}
const ms = median(full.map(([time]) => time)) - median(bare.map(([time]) => time));
const mb = median(full.map(([, memory]) => memory)) - median(bare.map(([, memory]) => memory));
const verdict = (value: number, limit: number): string =>
  value <= limit ? `pass (${limit})` : `FALLS SHORT (${limit})`;
console.log(`# ${runtime}`);
console.log(`importing the core: ${ms.toFixed(1)} ms   ${verdict(ms, LIMIT_MS)}`);
console.log(`importing the core: ${mb.toFixed(1)} MB   ${verdict(mb, LIMIT_MB)}`);

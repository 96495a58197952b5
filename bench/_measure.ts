import { median } from "./_load.ts";

/** A ratio to reach; undefined when there is none. */
export type Goal = number | undefined;

const globals = globalThis as { Deno?: unknown; Bun?: unknown };

/** Which runtime this is. */
export const runtime: string = globals.Deno ? "deno" : globals.Bun ? "bun" : "node";

const ROUNDS = 40;
const ROUND_MS = 3;
const WARM_MS = 60;

let sink: unknown;

/** Time of one call, in milliseconds, over `calls` calls. */
function timeOf(work: () => unknown, calls: number): number {
  const start = performance.now();
  for (let call = 0; call < calls; call++) sink = work();
  return (performance.now() - start) / calls;
}

/** How often `work` has to be called to fill a round; every compiler has seen it by then. */
function callsOf(work: () => unknown): number {
  let calls = 1;
  for (let spent = 0;;) {
    const total = timeOf(work, calls) * calls;
    spent += total;
    if (spent > WARM_MS) return Math.max(1, Math.round((calls * ROUND_MS) / total));
    if (total < ROUND_MS) calls *= 2;
  }
}

/**
 * How many times as fast `own` is as `base`: the fastest rounds of both, taken in turn, so that what
 * else the machine does counts least.
 */
export function ratio(base: () => unknown, own: () => unknown): number {
  const baseCalls = callsOf(base);
  const ownCalls = callsOf(own);
  let [fastestBase, fastestOwn] = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    fastestBase = Math.min(fastestBase, timeOf(base, baseCalls));
    fastestOwn = Math.min(fastestOwn, timeOf(own, ownCalls));
  }
  return fastestBase / fastestOwn;
}

/**
 * How many times as fast `own` is as `base`, in messages a second, each measured in turn; the median of
 * the rounds. Both are run once before that, since a compiler needs some thousand messages of either to
 * have seen them.
 *
 * @returns The ratio; null when `base` has nothing to be measured with.
 */
export async function ratioInTurn<B extends number | null>(
  rounds: number,
  own: () => Promise<number>,
  base: () => Promise<B>,
): Promise<number | Exclude<B, number>> {
  const ratios: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const [first, second] = [await base(), await own()];
    if (typeof first !== "number") return first as Exclude<B, number>;
    if (round > 0) ratios.push(second / first);
  }
  return median(ratios);
}

/** The fastest of three calls, in milliseconds. */
export function timeOnce(work: () => unknown): number {
  return Math.min(timeOf(work, 1), timeOf(work, 1), timeOf(work, 1));
}

/** A tenth is noise. */
const TOLERANCE = 0.9;

/** Prints a line of the table. */
export function report(name: string, size: string, value: number, goal: Goal): void {
  const shown = value >= 100 ? value.toFixed(0) : value.toFixed(2);
  const verdict = goal === undefined
    ? ""
    : value >= goal
    ? `pass (${goal})`
    : value >= goal * TOLERANCE
    ? `pass within noise (${goal})`
    : `FALLS SHORT (${goal})`;
  console.log(`${name.padEnd(52)}${size.padEnd(20)}${shown.padStart(8)}   ${verdict}`);
}

/** Keeps the engines from dropping the work. */
export function lastResult(): unknown {
  return sink;
}

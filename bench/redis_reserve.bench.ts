/**
 * Measures the whole worker on Redis beside BullMQ, and beside what the server itself can do with the
 * same script, all in the same run and in turn. Only the ratios mean something; allow a tenth for noise.
 *
 * Run `deno bench -A bench/redis_reserve.bench.ts`, `bun bench/redis_reserve.bench.ts` or
 * `node bench/redis_reserve.bench.ts`. `BQ_BENCH_ROUNDS` (3) says how often everything is measured,
 * `BQ_BENCH_JOBS` (20,000) how many messages there are.
 *
 * @module
 */

import process from "node:process";
import { startRedis } from "../tests/brokers/mod.ts";
import { startFar } from "./_far.ts";
import { ratioInTurn, report, runtime } from "./_measure.ts";
import { benchmarkRate, serverTime } from "./_redis_limits.ts";
import { bareLoop, barePickUp, barePush, serverLimit } from "./_redis_bare.ts";
import { bullmq, pickUpBull, publishBull, publishManyBull } from "./_redis_bull.ts";
import type { Load, Peer } from "./_load.ts";
import { ours, pickUpOurs, publishManyOurs, publishOurs } from "./_redis_ours.ts";
import { memoryAfter } from "./_redis_memory.ts";

const ROUNDS = Number(process.env["BQ_BENCH_ROUNDS"] ?? 3);
const JOBS = Number(process.env["BQ_BENCH_JOBS"] ?? 20_000);
const KB2 = 1_750;
const KB64 = 65_000;

const broker = await startRedis();
const { port } = broker;
const load = (concurrency: number, pad = 0, count = JOBS): Load => ({
  port,
  concurrency,
  pad,
  count: Math.max(100, Math.min(count, Math.floor(count * 4_000 / (pad + 4_000)))),
});

async function line(
  name: string,
  size: string,
  goal: number | undefined,
  own: () => Promise<number>,
  base: () => Promise<number | null>,
): Promise<void> {
  const value = await ratioInTurn(ROUNDS, own, base);
  if (value === null) {
    console.log(`${name.padEnd(52)}${size.padEnd(20)}  left out: no redis-benchmark`);
  } else report(name, size, value, goal);
}

/** How many times as fast a worker is as another one on the same load. */
function race(
  name: string,
  size: string,
  goal: number | undefined,
  own: Peer,
  on: Load,
): Promise<void> {
  return line(name, size, goal, () => own(on), () => bullmq(on));
}

console.log(`@bq/redis on ${runtime}, ${ROUNDS} rounds of ${JOBS} messages; times as fast`);

for (
  const [size, pad, goal] of [["0.3 KB", 0, 1.35], ["2 KB", KB2, 2.3], [
    "64 KB",
    KB64,
    3.8,
  ]] as const
) {
  const jobs = load(1, pad).count;
  for (const batch of [1, 50]) {
    const time = (mode: "splice" | "cjson") => () => serverTime(port, { mode, batch, pad }, jobs);
    // Of times the larger one is the slower one.
    await line(
      `splice / cjson in the script, ${batch} a call`,
      size,
      goal,
      time("cjson"),
      time("splice"),
    );
  }
}

const zset = ours({ layout: "zset" });
const legacy = ours({ layout: "legacy" });
const one = load(1, 0, JOBS / 4);
// Lines without a goal say what the client and the server allow: the next line cannot be above it.
await line(
  "the bare client's loop, one by one / BullMQ",
  "0.3 KB",
  undefined,
  () => bareLoop(port, one.count),
  () => bullmq(one),
);
await race("zset, 1 handler / BullMQ", "0.3 KB", 2.0, zset, one);
await race("legacy, 1 handler / BullMQ", "0.3 KB", 2.0, legacy, one);
for (const batchSize of [1, 16, 64]) {
  const label = `50 handlers, up to ${batchSize} a call / BullMQ`;
  const goal = batchSize === 64 ? 3.5 : undefined;
  await race(`zset, ${label}`, "0.3 KB", goal, ours({ layout: "zset", batchSize }), load(50));
  await race(`legacy, ${label}`, "0.3 KB", goal, ours({ layout: "legacy", batchSize }), load(50));
}
await race("zset, 50 handlers / BullMQ", "2 KB", 2.7, zset, load(50, KB2));
await race("zset, 50 handlers / BullMQ", "64 KB", 1.1, zset, load(50, KB64));
await line(
  "zset, 128 handlers / BullMQ with 50",
  "0.3 KB",
  10,
  () => zset(load(128)),
  () => bullmq(load(50)),
);
await line(
  "legacy, 128 handlers / BullMQ with 50",
  "0.3 KB",
  10,
  () => legacy(load(128)),
  () => bullmq(load(50)),
);

await line(
  "what the server's own time allows / BullMQ with 50",
  "0.3 KB",
  undefined,
  () => serverLimit(port, JOBS),
  () => bullmq(load(50)),
);

const single = { mode: "splice", batch: 1, pad: 0 } as const;
await line(
  "zset, 50 handlers / the script in C, -c1 -P64",
  "0.3 KB",
  0.6,
  () => zset(load(50)),
  () => benchmarkRate(port, single, JOBS, 64),
);
await line(
  "zset, 128 handlers / the script in C, 50 a call",
  "0.3 KB",
  0.65,
  () => zset(load(128)),
  () => benchmarkRate(port, { ...single, batch: 50 }, 10 * JOBS, 1),
);

const distant = await startFar(port);
const far = { ...one, port: distant.port, count: Math.min(1_000, one.count) };
await race("zset, 1 handler, 2 ms away / BullMQ", "0.3 KB", 1.1, zset, far);
await line(
  "the bare client's loop, 2 ms away / BullMQ",
  "0.3 KB",
  undefined,
  () => bareLoop(far.port, far.count),
  () => bullmq(far),
);
await distant.close();

for (const layout of ["zset", "legacy"] as const) {
  await line(
    `${layout}, publish, 50 in flight / BullMQ add`,
    "0.3 KB",
    2.5,
    () => publishOurs(port, JOBS, layout),
    () => publishBull(port, JOBS),
  );
  await line(
    `${layout}, publishMany of 100 / BullMQ addBulk`,
    "0.3 KB",
    10,
    () => publishManyOurs(port, 5 * JOBS, layout),
    () => publishManyBull(port, JOBS),
  );
}

await line(
  "ready bytes pushed by 100 / BullMQ addBulk",
  "0.3 KB",
  undefined,
  () => barePush(port, 5 * JOBS),
  () => publishManyBull(port, JOBS),
);

// Of times the smaller one is the better one: 1 / 0.75.
await line(
  "BullMQ's idle pick-up, p50 / the bare client's",
  "0.3 KB",
  undefined,
  () => pickUpBull(port, 200),
  () => barePickUp(port, 200),
);
await line(
  "BullMQ's idle pick-up, p50 / zset's",
  "0.3 KB",
  1 / 0.75,
  () => pickUpBull(port, 200),
  () => pickUpOurs(port, 200),
);
await line(
  "BullMQ's memory after the work / zset's",
  "0.3 KB",
  1 / 0.8,
  () => memoryAfter("bullmq", port, 5 * JOBS),
  () => memoryAfter("zset", port, 5 * JOBS),
);
await broker.stop();
process.exit(0);

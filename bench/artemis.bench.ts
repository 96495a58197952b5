/**
 * Measures publishing and the worker on Artemis beside the client alone, and each with a window beside
 * one by one, in the same run and in turn: on loopback and through a proxy that adds 2 ms. Only the
 * ratios mean something; allow a tenth for noise.
 *
 * Run `deno bench -A bench/artemis.bench.ts`, `bun bench/artemis.bench.ts` or
 * `node bench/artemis.bench.ts`. `BQ_BENCH_ROUNDS` (3) says how often everything is measured,
 * `BQ_BENCH_JOBS` (10,000) how many messages there are.
 *
 * @module
 */

import process from "node:process";
import { startArtemis } from "../tests/brokers/mod.ts";
import { startFar } from "./_far.ts";
import { barePublish, bareReceive, type Way } from "./_artemis_bare.ts";
import { publish, work } from "./_artemis_ours.ts";
import { ratioInTurn, report, runtime } from "./_measure.ts";

const ROUNDS = Number(process.env["BQ_BENCH_ROUNDS"] ?? 3);
const JOBS = Number(process.env["BQ_BENCH_JOBS"] ?? 10_000);
const WINDOW = 100;

const broker = await startArtemis();
const distant = await startFar(broker.port);

/** How many times as fast one way is as another. */
async function line(
  name: string,
  place: string,
  port: number,
  goal: number | undefined,
  own: Way,
  base: Way,
  baseCount: number = JOBS,
): Promise<void> {
  const value = await ratioInTurn(ROUNDS, () => own(port, JOBS), () => base(port, baseCount));
  report(name, place, value, goal);
}

console.log(`@bq/artemis on ${runtime}, ${ROUNDS} rounds of ${JOBS} messages; times as fast`);
for (
  const [place, port, slow] of [["loopback", broker.port, 4], [
    "2 ms away",
    distant.port,
    20,
  ]] as const
) {
  const few = JOBS / slow;
  const publishes = `publish, ${WINDOW} unconfirmed`;
  const worker = `worker, ${WINDOW} handlers`;
  await line(`${publishes} / bare rhea`, place, port, 0.8, publish(WINDOW), barePublish(WINDOW));
  await line(
    `${publishes} / each awaited`,
    place,
    port,
    undefined,
    publish(WINDOW),
    publish(1),
    few,
  );
  await line(`${worker} / bare rhea`, place, port, 0.8, work(WINDOW), bareReceive(WINDOW));
  await line(`${worker} / 1 handler`, place, port, undefined, work(WINDOW), work(1), few);
}

await distant.close();
await broker.stop();
process.exit(0);

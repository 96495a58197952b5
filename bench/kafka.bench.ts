/**
 * Measures producing and the whole worker on Kafka beside bare kafkajs, in the same run and in turn.
 * Only the ratios mean something; allow a tenth for noise. Needs a Kafka, which it starts.
 *
 * Run `deno bench -A bench/kafka.bench.ts`, `bun bench/kafka.bench.ts` or `node bench/kafka.bench.ts`.
 * `BQ_BENCH_ROUNDS` (3) says how often everything is measured.
 *
 * @module
 */

import process from "node:process";
import { startKafka } from "../tests/brokers/mod.ts";
import { ratioInTurn, report, runtime } from "./_measure.ts";
import {
  consumeBare,
  consumeOurs,
  type KafkaLoad,
  produceBare,
  produceEachBare,
  produceManyOurs,
  produceOurs,
} from "./_kafka_load.ts";

const ROUNDS = Number(process.env["BQ_BENCH_ROUNDS"] ?? 3);
const GOAL = 0.8;
const KB2 = 1_750;

const broker = await startKafka();
const load = (count: number, pad: number, batch: number): KafkaLoad => ({
  port: broker.port,
  count,
  pad,
  batch,
  partitions: 3,
});

/** How many times as fast ours is, and the best rates of both. */
async function race(
  name: string,
  size: string,
  own: (on: KafkaLoad) => Promise<number>,
  bare: (on: KafkaLoad) => Promise<number>,
  on: KafkaLoad,
  goal: number | null = GOAL,
): Promise<void> {
  const rates: { readonly [side in "ours" | "bare"]: number[] } = { ours: [], bare: [] };
  const kept = (side: "ours" | "bare", way: (on: KafkaLoad) => Promise<number>) => async () => {
    const rate = await way(on);
    rates[side].push(rate);
    return rate;
  };
  const value = await ratioInTurn(ROUNDS, kept("ours", own), kept("bare", bare));
  report(name, size, value, goal ?? undefined);
  const best = (side: "ours" | "bare"): string => Math.max(...rates[side].slice(1)).toFixed(0);
  console.log(`${"".padEnd(52)}ours ${best("ours")}/s, bare ${best("bare")}/s`);
}

console.log(`@bq/kafka on ${runtime}, ${ROUNDS} rounds; times as fast as bare kafkajs`);
for (const [size, pad] of [["0.3 KB", 0], ["2 KB", KB2]] as const) {
  await race("produce, one at a time", size, produceOurs, produceBare, load(3_000, pad, 1));
  await race("produce, 100 in a call", size, produceManyOurs, produceBare, load(10_000, pad, 100));
  const calls = "produce, 100 calls at a time";
  await race(calls, size, produceOurs, produceEachBare, load(10_000, pad, 100));
  await race(`${calls} / 1 of 100`, size, produceOurs, produceBare, load(10_000, pad, 100), null);
  await race("consume and commit each", size, consumeOurs, consumeBare, load(4_000, pad, 500));
}
await broker.stop();

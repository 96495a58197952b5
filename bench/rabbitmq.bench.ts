/**
 * Measures publishing and the worker on RabbitMQ, each with a window beside one by one, and beside the
 * client alone, in the same run and in turn: on loopback and through a proxy that adds 2 ms. Only the
 * ratios mean something; allow a tenth for noise.
 *
 * Run `deno bench -A bench/rabbitmq.bench.ts`, `bun bench/rabbitmq.bench.ts` or
 * `node bench/rabbitmq.bench.ts`. `BQ_BENCH_ROUNDS` (3) says how often everything is measured,
 * `BQ_BENCH_JOBS` (10,000) how many messages there are.
 *
 * @module
 */

import process from "node:process";
import { startRabbitmq } from "../tests/brokers/mod.ts";
import { startFar } from "./_far.ts";
import { ratioInTurn, report, runtime } from "./_measure.ts";
import { bareConsume, bareGet, barePublish, type Way } from "./_rabbitmq_bare.ts";
import { publishEach, publishMany, work } from "./_rabbitmq_ours.ts";

const ROUNDS = Number(process.env["BQ_BENCH_ROUNDS"] ?? 3);
const JOBS = Number(process.env["BQ_BENCH_JOBS"] ?? 10_000);
const WINDOW = 100;

const broker = await startRabbitmq();
const distant = await startFar(broker.port);
const far = broker.url.replace(`:${broker.port}`, `:${distant.port}`);

interface Place {
  readonly name: string;
  readonly url: string;
  /** Messages for ways that take a round trip each, and for the others. */
  readonly slow: number;
  readonly fast: number;
}

const NEAR: Place = { name: "loopback", url: broker.url, slow: JOBS / 4, fast: JOBS };
const FAR: Place = { name: "2 ms away", url: far, slow: JOBS / 25, fast: JOBS };

/** How many times as fast one way is as another. */
async function line(
  name: string,
  { name: place, url, slow, fast }: Place,
  goal: number,
  own: Way,
  base: Way,
  baseIsSlow: boolean,
): Promise<void> {
  const baseCount = baseIsSlow ? slow : fast;
  const value = await ratioInTurn(ROUNDS, () => own(url, fast), () => base(url, baseCount));
  report(name, place, value, goal);
}

console.log(`@bq/rabbitmq on ${runtime}, ${ROUNDS} rounds of ${JOBS} messages; times as fast`);
for (const place of [NEAR, FAR]) {
  const isNear = place === NEAR;
  const publishes = `publishMany, ${WINDOW} unconfirmed`;
  const worker = `worker, window of ${WINDOW}`;
  await line(
    `${publishes} / each awaited`,
    place,
    isNear ? 8 : 30,
    publishMany(WINDOW),
    publishEach,
    true,
  );
  await line(
    `${publishes} / bare amqplib`,
    place,
    0.8,
    publishMany(WINDOW),
    barePublish(WINDOW),
    false,
  );
  await line(`${worker} / bare basic.get`, place, isNear ? 3.8 : 30, work(WINDOW), bareGet, true);
  await line(`${worker} / bare amqplib`, place, 0.8, work(WINDOW), bareConsume(WINDOW), false);
}
await line(
  "worker by 'get', one by one / bare basic.get",
  NEAR,
  0.8,
  slowly(work(1, "get")),
  bareGet,
  true,
);

/** The same number of messages on both sides. */
function slowly(way: Way): Way {
  return (url) => way(url, NEAR.slow);
}

await distant.close();
await broker.stop();
process.exit(0);

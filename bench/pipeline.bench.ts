/**
 * Measures the whole worker on memory beside the bare handler: what it adds to a message, whether that
 * grows with what waits, and what a held delivery weighs.
 *
 * Run `deno bench -A bench/pipeline.bench.ts`, `bun bench/pipeline.bench.ts` or
 * `node --expose-gc bench/pipeline.bench.ts`.
 *
 * @module
 */

import process from "node:process";
import { BabelQueue, memory } from "@bq/core";
import { encodeNew } from "../core/encode.ts";
import { readEnvelope } from "../core/reading.ts";
import { report, runtime } from "./_measure.ts";

const URN = "urn:babel:orders:created";
const started = process.memoryUsage().rss;

/** How many messages one measurement handles. */
const HANDLED = 50_000;

/**
 * Works while `waiting` messages wait: each handler publishes the message that takes the place of its
 * own. Microseconds a message, that publish included.
 */
async function worked(waiting: number, concurrency: number): Promise<number> {
  const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true, concurrency });
  let seen = 0;
  bq.handle(URN, async (order) => {
    if (typeof order.order_id === "number") seen++;
    await bq.publish(URN, order);
  });
  const items = Array.from(
    { length: 1_000 },
    (_, id) => ({ message: URN, data: { order_id: id } }),
  );
  for (let left = waiting; left > 0; left -= items.length) await bq.publishMany(items);
  let least = Infinity;
  for (let round = 0; round < 4; round++) {
    const start = performance.now();
    await bq.consume({ waitMs: 0, maxMessages: HANDLED });
    least = Math.min(least, performance.now() - start);
  }
  await bq.close();
  if (seen !== 4 * HANDLED) throw new Error(`handled ${seen} of ${4 * HANDLED}`);
  return least / HANDLED * 1_000;
}

/** The publish alone; microseconds a message. */
async function published(): Promise<number> {
  const bq = new BabelQueue(memory(), { queue: "orders" });
  const start = performance.now();
  for (let n = 0; n < HANDLED; n++) await bq.publish(URN, { order_id: n });
  const took = performance.now() - start;
  await bq.close();
  return took / HANDLED * 1_000;
}

/** The same work without a library; microseconds a message. */
function bare(messages: number): number {
  let seen = 0;
  const handler = (order: { order_id?: unknown }): void => {
    if (typeof order.order_id === "number") seen++;
  };
  const text = JSON.stringify({ order_id: 1 });
  const start = performance.now();
  for (let n = 0; n < messages; n++) handler(JSON.parse(text));
  if (seen !== messages) throw new Error("unreachable");
  return (performance.now() - start) / messages * 1_000;
}

/** What `keep` gives of each body weighs on the heap; bytes each. */
function weigh(bodies: readonly Uint8Array[], keep: (body: Uint8Array) => unknown): number {
  const { gc, Bun: bun } = globalThis as {
    gc?: () => void;
    Bun?: { gc(force: boolean): void };
  };
  const used = (): number => {
    if (bun) bun.gc(true);
    else gc?.();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  const kept = bodies.map(keep);
  const weight = (used() - before) / kept.length;
  return kept.length === bodies.length ? weight : 0;
}

console.log(`# ${runtime}`);
const own = bare(1_000_000) + Math.min(await published(), await published());
let few = 0;
let many = 0;
for (const waiting of [1_000, 10_000, 100_000, 1_000_000]) {
  many = await worked(waiting, 1);
  few ||= many;
  const verdict = many - own <= 25 ? "pass (25)" : "FALLS SHORT (25)";
  console.log(
    `worker, concurrency 1, ${String(waiting).padStart(7)} waiting: ` +
      `${Math.round(1e6 / many)} messages/s, ${(many - own).toFixed(1)} µs added   ${verdict}`,
  );
}
report("throughput with 10^6 waiting, beside 10^3", "", few / many, 1);
for (const concurrency of [10, 100]) {
  const micros = await worked(10_000, concurrency);
  console.log(`worker, concurrency ${concurrency}: ${Math.round(1e6 / micros)} messages/s`);
}

const bodies = Array.from(
  { length: 500 },
  () => encodeNew(URN, { text: "x".repeat(64 * 1024) }, { queue: "orders", nowMs: 0 }).body,
);
const bytes = bodies[0]!.length;
const reading = weigh(bodies, (body) => readEnvelope(body));
report(
  "a held unread 64 KB delivery, its bytes beside its weight",
  "",
  bytes / (bytes + reading),
  1 / 1.05,
);
const small = weigh(bodies, (body) => {
  const { urn, messageId, traceId } = readEnvelope(body);
  return [urn, messageId, traceId];
});
console.log(`urn and ids kept of a read 64 KB delivery: ${Math.round(small)} bytes`);
const rss = Math.round((process.memoryUsage().rss - started) / 1e6);
console.log(`resident memory grew by ${rss} MB over the whole run`);

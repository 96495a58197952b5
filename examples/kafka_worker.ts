// Works on a queue in Kafka, and serves its retry tiers, until it is told to stop: SIGTERM, Ctrl-C, or
// after so many messages. The first attempt of every third order fails.
// Run it with: deno run -A examples/kafka_worker.ts [kafka://localhost:9092] [queue] [messages]
// or with: bun examples/kafka_worker.ts, node examples/kafka_worker.ts

import process from "node:process";
import { BabelQueue } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";
import { kafka } from "@bq/kafka";

const [url = "kafka://localhost:9092", queue = "orders", messages = "Infinity"] = process.argv
  .slice(2);
const transport = kafka({ url, retryTiersMs: [1_000, 5_000], reinject: true });
const bq = new BabelQueue(transport, { queue, maxAttempts: 5, deadLetter: true });

for (const { message } of await withConnection()) console.log(`check: ${message}`);

const done = new AbortController();
let left = Number(messages);
bq.handle("urn:babel:orders:created", (order, ctx) => {
  if (Number(order.order_id) % 3 === 0 && ctx.attempt === 1) throw new Error("try again");
  console.log(`order ${order.order_id}, attempt ${ctx.attempt}`);
  if (--left <= 0) done.abort();
});
bq.handle("urn:babel:orders:remind", (order) => {
  console.log(`reminded of order ${order.order_id}`);
  if (--left <= 0) done.abort();
});

const { stop, force, dispose } = shutdownSignal();
const signal = AbortSignal.any([stop, done.signal]);
await bq.run({ concurrency: 3, signal, forceSignal: force });
await bq.close();
dispose();
console.log("stopped in order");

/** What is missing or wrong with the queue's topics. */
async function withConnection() {
  await bq.connect();
  return await transport.check(queue);
}

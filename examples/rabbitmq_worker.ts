// Works on a queue in RabbitMQ until it is told to stop: SIGTERM, Ctrl-C, or after so many messages.
// Run it with: deno run -A examples/rabbitmq_worker.ts [amqp://localhost] [queue] [messages]
// or with: bun examples/rabbitmq_worker.ts, node examples/rabbitmq_worker.ts

import process from "node:process";
import { BabelQueue } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";
import { rabbitmq } from "@bq/rabbitmq";

const [url = "amqp://localhost", queue = "orders", messages = "Infinity"] = process.argv.slice(2);
const bq = new BabelQueue(rabbitmq(url), {
  queue,
  maxAttempts: 5,
  deadLetter: true,
  // Waits of 1, 2, 5, 10 … seconds, in delay queues: a worker that stops meanwhile loses none.
  retry: { baseMs: 1_000, multiplier: 2, maxMs: 60_000 },
});

const done = new AbortController();
let left = Number(messages);
bq.use(async (_, next) => {
  await next();
  if (--left <= 0) done.abort();
});

let failures = 0;
bq.handle("urn:babel:orders:created", (order, ctx) => {
  if (failures++ === 0) throw new Error("the first one fails, to show a retry");
  console.log(`order ${order.order_id}, attempt ${ctx.attempt}`);
});
bq.handle("urn:babel:orders:remind", (order) => {
  console.log(`reminded of order ${order.order_id}`);
});

const { stop, force, dispose } = shutdownSignal();
const signal = AbortSignal.any([stop, done.signal]);
await bq.run({ concurrency: 100, signal, forceSignal: force });
await bq.close();
dispose();
console.log("stopped in order");

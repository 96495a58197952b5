// Works on a queue in Redis until it is told to stop: SIGTERM, Ctrl-C, or after so many messages.
// Run it with: deno run -A examples/redis_worker.ts [redis://localhost:6379/0?laravel=1] [queue] [messages]
// or with: bun examples/redis_worker.ts, node examples/redis_worker.ts

import process from "node:process";
import { BabelQueue } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";
import { redis } from "@bq/redis";

const [url = "redis://localhost:6379/0?laravel=1", queue = "orders", messages = "Infinity"] =
  process.argv.slice(2);
const bq = new BabelQueue(redis(url), {
  queue,
  maxAttempts: 5,
  deadLetter: true,
  retry: { baseMs: 1_000, multiplier: 2, maxMs: 60_000 },
});

const done = new AbortController();
let left = Number(messages);
bq.use(async (_, next) => {
  await next();
  if (--left <= 0) done.abort();
});

bq.handle("urn:babel:orders:created", (order, ctx) => {
  console.log(`order ${order.order_id}, attempt ${ctx.attempt}`);
});
// Longer than the reservation: it is extended meanwhile, so that nobody else gets the message.
bq.handle("urn:babel:orders:remind", async (order) => {
  await new Promise((resolve) => setTimeout(resolve, 100));
  console.log(`reminded of order ${order.order_id}`);
}, { timeoutMs: 600_000 });

const { stop, force, dispose } = shutdownSignal();
const signal = AbortSignal.any([stop, done.signal]);
await bq.run({ concurrency: 50, signal, forceSignal: force });
await bq.close();
dispose();
console.log("stopped in order");

// Works on a queue in Artemis until it is told to stop: SIGTERM, Ctrl-C, or after so many messages.
// Run it with: deno run -A examples/artemis_worker.ts [artemis://user:password@localhost:5672] [queue] [messages]
// or with: bun examples/artemis_worker.ts, node examples/artemis_worker.ts

import process from "node:process";
import { artemis } from "@bq/artemis";
import { BabelQueue } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";

const [url = "artemis://localhost:5672", queue = "orders", messages = "Infinity"] = process.argv
  .slice(2);
const bq = new BabelQueue(artemis(url), {
  queue,
  // Below the broker's own `max-delivery-attempts`, which is 10 unless it was set.
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
bq.handle("urn:babel:orders:remind", (order, ctx) => {
  console.log(`reminded ${ctx.headers.tenant} of order ${order.order_id}`);
});

const { stop, force, dispose } = shutdownSignal();
const signal = AbortSignal.any([stop, done.signal]);
await bq.run({ concurrency: 50, signal, forceSignal: force });
await bq.close();
dispose();
console.log("stopped in order");

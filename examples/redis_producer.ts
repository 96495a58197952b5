// Publishes to Redis: one message, one that is due later, and many at once.
// Run it with: deno run -A examples/redis_producer.ts [redis://localhost:6379/0?laravel=1] [queue]
// or with: bun examples/redis_producer.ts, node examples/redis_producer.ts

import process from "node:process";
import { BabelQueue } from "@bq/core";
import { redis } from "@bq/redis";

const [url = "redis://localhost:6379/0?laravel=1", queue = "orders"] = process.argv.slice(2);
const bq = new BabelQueue(redis(url), { queue });

const id = await bq.publish("urn:babel:orders:created", { order_id: 1042 });
console.log(`published ${id}`);

// The layout of Laravel can delay; the other one refuses, before anything is sent.
await bq.publish("urn:babel:orders:remind", { order_id: 1042 }, { delayMs: 1_000 });

const ids = await bq.publishMany([1, 2, 3].map((n) => ({
  message: "urn:babel:orders:created",
  data: { order_id: n },
})));
console.log(`published ${ids.length} more`);

await bq.close();

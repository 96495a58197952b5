/** Works until stopped with `run`, closes, and has to exit by itself. */

import assert from "node:assert/strict";
import { BabelQueue, memory } from "@bq/core";

const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true });
const stop = new AbortController();
const seen: unknown[] = [];
bq.handle("urn:babel:orders:created", (order) => {
  seen.push(order);
  if (seen.length === 3) stop.abort();
});

const worked = bq.run({ queues: ["orders"], concurrency: 2, signal: stop.signal });
for (const order_id of [1, 2, 3]) await bq.publish("urn:babel:orders:created", { order_id });
await worked;
await bq.close();

assert.equal(seen.length, 3);
console.log("done");

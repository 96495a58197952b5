// Publishes to Artemis: one message, one that is due later, and many at once.
// Run it with: deno run -A examples/artemis_producer.ts [artemis://user:password@localhost:5672] [queue]
// or with: bun examples/artemis_producer.ts, node examples/artemis_producer.ts

import process from "node:process";
import { artemis } from "@bq/artemis";
import { BabelQueue } from "@bq/core";

const [url = "artemis://localhost:5672", queue = "orders"] = process.argv.slice(2);
const bq = new BabelQueue(artemis(url), { queue });

const id = await bq.publish("urn:babel:orders:created", { order_id: 1042 });
console.log(`published ${id}`);

// The broker keeps it until then. A header travels beside the body; a JMS consumer finds it as a property.
await bq.publish("urn:babel:orders:remind", { order_id: 1042 }, {
  delayMs: 1_000,
  headers: { tenant: "acme" },
});

const ids = await bq.publishMany([1, 2, 3].map((n) => ({
  message: "urn:babel:orders:created",
  data: { order_id: n },
})));
console.log(`published ${ids.length} more`);

await bq.close();

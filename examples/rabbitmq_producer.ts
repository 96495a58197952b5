// Publishes to RabbitMQ: one message, one that is due later, and many at once.
// Run it with: deno run -A examples/rabbitmq_producer.ts [amqp://localhost] [queue]
// or with: bun examples/rabbitmq_producer.ts, node examples/rabbitmq_producer.ts

import process from "node:process";
import { BabelQueue } from "@bq/core";
import { rabbitmq } from "@bq/rabbitmq";

const [url = "amqp://localhost", queue = "orders"] = process.argv.slice(2);
// RabbitMQ has no delay of its own: this one waits in `orders.delay.1000` and comes back from there.
const bq = new BabelQueue(rabbitmq({ url, delayQueues: true }), { queue });

const id = await bq.publish("urn:babel:orders:created", { order_id: 1042 });
console.log(`published ${id}`);

await bq.publish("urn:babel:orders:remind", { order_id: 1042 }, { delayMs: 1_000 });

const ids = await bq.publishMany([1, 2, 3].map((n) => ({
  message: "urn:babel:orders:created",
  data: { order_id: n },
})));
console.log(`published ${ids.length} more`);

await bq.close();

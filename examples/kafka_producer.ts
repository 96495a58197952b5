// Makes the topics of a queue and publishes to it: one message, one with a key, one that waits.
// Run it with: deno run -A examples/kafka_producer.ts [kafka://localhost:9092] [queue]
// or with: bun examples/kafka_producer.ts, node examples/kafka_producer.ts

import process from "node:process";
import { BabelQueue } from "@bq/core";
import { createTopics, kafka, kafkajsClient } from "@bq/kafka";
import kafkajs from "kafkajs";

const [url = "kafka://localhost:9092", queue = "orders"] = process.argv.slice(2);
const retryTiersMs = [1_000, 5_000];

const brokers = [url.replace("kafka://", "")];
const client = kafkajsClient(new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }));
await createTopics(client, [queue], { retryTiersMs, partitions: 3 });
await client.close();

const bq = new BabelQueue(kafka({ url, retryTiersMs }), { queue });
const id = await bq.publish("urn:babel:orders:created", { order_id: 1042 });
console.log(`published ${id}`);

// Messages of one key stay in order.
const ids = await bq.publishMany([1, 2, 3].map((n) => ({
  message: "urn:babel:orders:created",
  data: { order_id: n },
  key: "customer-7",
})));
console.log(`published ${ids.length} more`);

// Waits on the first tier; a re-injector has to run somewhere.
await bq.publish("urn:babel:orders:remind", { order_id: 1042 }, { delayMs: 1_000 });
await bq.close();

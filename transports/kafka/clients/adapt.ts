import { BabelQueueError } from "@bq/core/transport";
import type { KafkaClient } from "../client.ts";
import { kafkajsClient, type KafkajsLike } from "./kafkajs.ts";

/** A client that `kafka({ client })` takes. */
export type KafkaClientLike = KafkaClient | KafkajsLike;

/**
 * Finds out what kind of client it was given and adapts it.
 *
 * @throws {BabelQueueError} `invalid_option` when it is none.
 */
export function adapted(client: unknown): KafkaClient {
  const has = (name: string): boolean =>
    typeof (client as Record<string, unknown>)[name] === "function";
  if (has("producer") && has("consumer") && has("admin")) {
    return kafkajsClient(client as KafkajsLike);
  }
  if (has("send") && has("consumer") && has("ranges")) return client as KafkaClient;
  throw new BabelQueueError(
    "invalid_option",
    "Cannot use option 'client': it must be a Kafka of kafkajs, or what kafkajsClient() or " +
      "platformaticClient() makes",
  );
}

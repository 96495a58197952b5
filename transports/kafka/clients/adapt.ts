import { BabelQueueError, type SignalOptions } from "@bq/core/transport";
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

const users: WeakMap<KafkaClient, number> = new WeakMap();

/** Somebody works with the client from now on; {@linkcode release} is the end of that. */
export function acquire(client: KafkaClient): KafkaClient {
  users.set(client, (users.get(client) ?? 0) + 1);
  return client;
}

/** Closes the client with the last of those who worked with it. */
export async function release(client: KafkaClient, options: SignalOptions = {}): Promise<void> {
  const left = (users.get(client) ?? 1) - 1;
  users.set(client, left);
  if (left === 0) await client.close(options);
}

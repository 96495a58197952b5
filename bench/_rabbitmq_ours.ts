/** The whole of this library on RabbitMQ. */

import { BabelQueue, type BabelQueueOptions } from "@bq/core";
import { rabbitmq, type RabbitmqOptions } from "@bq/rabbitmq";
import amqp from "amqplib";
import { publishes, publishesMany, works } from "./_broker_ours.ts";
import type { Way } from "./_rabbitmq_bare.ts";

/** Messages of one call. */
const PAGE = 1_000;

async function withApp<T>(
  url: string,
  options: RabbitmqOptions & Pick<BabelQueueOptions, "concurrency">,
  use: (bq: BabelQueue) => Promise<T>,
): Promise<T> {
  const { concurrency = 1, ...transport } = options;
  const queue = `bench-${crypto.randomUUID()}`;
  const bq = new BabelQueue(rabbitmq({ url, ...transport }), {
    queue,
    concurrency,
    onEvent: () => {},
  });
  try {
    await bq.connect();
    return await use(bq);
  } finally {
    await bq.close();
    const connection = await amqp.connect(url, { noDelay: true });
    await (await connection.createChannel()).deleteQueue(queue);
    await connection.close();
  }
}

/** Publishes one after the other, each awaited. */
export const publishEach: Way = (url, count) => withApp(url, {}, (bq) => publishes(bq, count, 1));

/** Publishes many at a time, so many of them unconfirmed. */
export function publishMany(window: number): Way {
  return (url, count) =>
    withApp(url, { maxUnconfirmed: window }, (bq) => publishesMany(bq, count, PAGE));
}

/** A worker with so many handlers; its window is as large. */
export function work(concurrency: number, receive: "consume" | "get" = "consume"): Way {
  return (url, count) => withApp(url, { concurrency, receive }, (bq) => works(bq, count));
}

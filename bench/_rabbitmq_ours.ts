/** The whole of this library on RabbitMQ. */

import { BabelQueue, type BabelQueueOptions } from "@bq/core";
import { rabbitmq, type RabbitmqOptions } from "@bq/rabbitmq";
import { perSecond, URN, type Way } from "./_rabbitmq_bare.ts";
import { countdown, dataOf } from "./_redis_load.ts";
import amqp from "amqplib";

const DATA = dataOf(0);
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
export const publishEach: Way = (url, count) =>
  withApp(url, {}, async (bq) => {
    await bq.publish(URN, DATA);
    const startedMs = performance.now();
    for (let left = count; left > 0; left--) await bq.publish(URN, DATA);
    return perSecond(count, startedMs);
  });

/** Publishes many at a time, so many of them unconfirmed. */
export function publishMany(window: number): Way {
  return (url, count) =>
    withApp(url, { maxUnconfirmed: window }, async (bq) => {
      await bq.publish(URN, DATA);
      const startedMs = performance.now();
      for (const items of pages(count)) await bq.publishMany(items);
      return perSecond(count, startedMs);
    });
}

function* pages(count: number): Generator<{ message: string; data: object }[]> {
  for (let left = count; left > 0; left -= PAGE) {
    yield Array.from({ length: Math.min(left, PAGE) }, () => ({ message: URN, data: DATA }));
  }
}

/** A worker with so many handlers; its window is as large. */
export function work(
  concurrency: number,
  receive: "consume" | "get" = "consume",
): Way {
  return (url, count) =>
    withApp(url, { concurrency, receive }, async (bq) => {
      for (const items of pages(count)) await bq.publishMany(items);
      const { done, tick } = countdown(count);
      bq.handle(URN, tick);
      const startedMs = performance.now();
      const stop = new AbortController();
      const run = bq.run({ signal: stop.signal });
      await done;
      const rate = perSecond(count, startedMs);
      stop.abort();
      await run;
      return rate;
    });
}

/** The client alone, without this library: what there is to reach. */

import amqp from "amqplib";
import type { ConfirmChannel } from "amqplib";
import { Buffer } from "node:buffer";
import { EnvelopeCodec } from "@bq/core";
import { countdown, dataOf, perSecond, URN } from "./_load.ts";

/** One way of working on a queue of its own; gives messages a second. */
export type Way = (url: string, count: number) => Promise<number>;

async function withQueue<T>(
  url: string,
  use: (channel: ConfirmChannel, queue: string) => Promise<T>,
): Promise<T> {
  const connection = await amqp.connect(url, { noDelay: true });
  const channel = await connection.createConfirmChannel();
  const queue = `bench-${crypto.randomUUID()}`;
  await channel.assertQueue(queue, { durable: true });
  try {
    return await use(channel, queue);
  } finally {
    await channel.deleteQueue(queue);
    await connection.close();
  }
}

/** The same body and the same properties as ours. */
function message(queue: string): { readonly body: Buffer; readonly properties: object } {
  const envelope = EnvelopeCodec.make(URN, dataOf(0), { queue });
  const body = Buffer.from(EnvelopeCodec.encode(envelope));
  const properties = {
    type: URN,
    correlationId: envelope.trace_id,
    messageId: envelope.meta.id,
    appId: "babelqueue",
    contentType: "application/json",
    contentEncoding: "utf-8",
    persistent: true,
    mandatory: true,
    headers: { "x-attempts": 0, "x-schema-version": 1, "x-source-lang": "node" },
  };
  return { body, properties };
}

/** Publishes with so many unconfirmed at a time. */
export function barePublish(window: number): Way {
  return (url, count) =>
    withQueue(url, async (channel, queue) => {
      const { body, properties } = message(queue);
      const { done, tick } = countdown(count);
      let sent = 0;
      const next = (): void => {
        if (sent === count) return;
        sent++;
        channel.publish("", queue, body, properties, () => {
          tick();
          next();
        });
      };
      const startedMs = performance.now();
      for (let n = 0; n < window; n++) next();
      await done;
      return perSecond(count, performance.now() - startedMs);
    });
}

async function fill(channel: ConfirmChannel, queue: string, count: number): Promise<void> {
  const { body, properties } = message(queue);
  for (let left = count; left > 0; left -= 1_000) {
    for (let n = Math.min(left, 1_000); n > 0; n--) channel.publish("", queue, body, properties);
    await channel.waitForConfirms();
  }
}

/** `basic.get`, then an acknowledgement, one message after the other. */
export const bareGet: Way = (url, count) =>
  withQueue(url, async (channel, queue) => {
    await fill(channel, queue, count);
    const startedMs = performance.now();
    for (let left = count; left > 0;) {
      const message = await channel.get(queue);
      if (message === false) continue;
      channel.ack(message);
      left--;
    }
    return perSecond(count, performance.now() - startedMs);
  });

/** `basic.consume` with a window, each message acknowledged. */
export function bareConsume(prefetch: number): Way {
  return (url, count) =>
    withQueue(url, async (channel, queue) => {
      await fill(channel, queue, count);
      const { done, tick } = countdown(count);
      await channel.prefetch(prefetch);
      const startedMs = performance.now();
      await channel.consume(queue, (message) => {
        if (message === null) return;
        channel.ack(message);
        tick();
      });
      await done;
      return perSecond(count, performance.now() - startedMs);
    });
}

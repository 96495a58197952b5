/** The client alone, without this library: what there is to reach. */

import amqp from "amqplib";
import type { ConfirmChannel } from "amqplib";
import { Buffer } from "node:buffer";
import { bareData, bareMessage } from "./_bare_message.ts";
import { countdown, dataOf, perSecond, URN } from "./_load.ts";

const DATA: object = dataOf(0);

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

/** A message of its own, with the same body and the same properties as ours. */
function message(): { readonly body: Buffer; readonly properties: object } {
  const { id, traceId, text } = bareMessage(URN, DATA);
  const properties = {
    type: URN,
    correlationId: traceId,
    messageId: id,
    appId: "babelqueue",
    contentType: "application/json",
    contentEncoding: "utf-8",
    persistent: true,
    mandatory: true,
    headers: { "x-attempts": 0, "x-schema-version": 1, "x-source-lang": "node" },
  };
  return { body: Buffer.from(text), properties };
}

/** Publishes with so many unconfirmed at a time. */
export function barePublish(window: number): Way {
  return (url, count) =>
    withQueue(url, async (channel, queue) => {
      const { done, tick } = countdown(count);
      let sent = 0;
      const next = (): void => {
        if (sent === count) return;
        sent++;
        const { body, properties } = message();
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
  for (let left = count; left > 0; left -= 1_000) {
    for (let n = Math.min(left, 1_000); n > 0; n--) {
      const { body, properties } = message();
      channel.publish("", queue, body, properties);
    }
    await channel.waitForConfirms();
  }
}

/** `basic.get`, reading, then an acknowledgement, one message after the other. */
export const bareGet: Way = (url, count) =>
  withQueue(url, async (channel, queue) => {
    await fill(channel, queue, count);
    const startedMs = performance.now();
    for (let left = count; left > 0;) {
      const message = await channel.get(queue);
      if (message === false) continue;
      bareData(message.content.toString());
      channel.ack(message);
      left--;
    }
    return perSecond(count, performance.now() - startedMs);
  });

/** `basic.consume` with a window, each message read and acknowledged. */
export function bareConsume(prefetch: number): Way {
  return (url, count) =>
    withQueue(url, async (channel, queue) => {
      await fill(channel, queue, count);
      const { done, tick } = countdown(count);
      await channel.prefetch(prefetch);
      const startedMs = performance.now();
      await channel.consume(queue, (message) => {
        if (message === null) return;
        bareData(message.content.toString());
        channel.ack(message);
        tick();
      });
      await done;
      return perSecond(count, performance.now() - startedMs);
    });
}

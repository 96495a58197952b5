/** The client alone, without this library: what there is to reach. */

import { EnvelopeCodec } from "@bq/core";
import type rhea from "rhea";
import { connect, disconnect, Peer } from "../tests/artemis/peer.ts";
import { countdown, dataOf, perSecond, URN } from "./_load.ts";

/** One way of working on a queue of its own; gives messages a second. */
export type Way = (port: number, count: number) => Promise<number>;

/**
 * Works on a queue of its own and removes it: a broker that keeps what every round left would have
 * nothing but that to do.
 */
export async function onQueue<T>(port: number, use: (queue: string) => Promise<T>): Promise<T> {
  const queue = `bench-${crypto.randomUUID()}`;
  try {
    return await use(queue);
  } finally {
    const peer = await Peer.connect(port);
    await peer.manage("broker", "destroyQueue", queue);
    await peer.close();
  }
}

async function connected<T>(
  port: number,
  use: (connection: rhea.Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(port);
  try {
    return await use(connection);
  } finally {
    await disconnect(connection);
  }
}

/** The same body and the same slots as ours. */
function message(queue: string): object {
  const envelope = EnvelopeCodec.make(URN, dataOf(0), { queue });
  return {
    durable: true,
    subject: URN,
    correlation_id: envelope.trace_id,
    creation_time: envelope.meta.created_at,
    message_annotations: { "x-opt-jms-type": URN },
    application_properties: {
      bq_schema_version: "1",
      bq_source_lang: "node",
      bq_attempts: "0",
      bq_app_id: "babelqueue",
    },
    body: EnvelopeCodec.encode(envelope),
  };
}

/** Opens a link and resolves when the broker takes messages on it. */
async function senderTo(connection: rhea.Connection, queue: string): Promise<rhea.Sender> {
  const sender = connection.open_sender({ target: { address: queue, capabilities: ["queue"] } });
  await new Promise<void>((resolve) => sender.once("sendable", () => resolve()));
  return sender;
}

/** Sends with so many unconfirmed at a time. */
async function send(
  sender: rhea.Sender,
  queue: string,
  count: number,
  window: number,
): Promise<void> {
  const sample = message(queue);
  const { done, tick } = countdown(count);
  let [sent, open] = [0, 0];
  const fill = (): void => {
    while (sent < count && open < window && sender.sendable()) {
      sender.send(sample as never);
      sent++;
      open++;
    }
  };
  sender.on("sendable", fill);
  sender.on("accepted", () => {
    open--;
    tick();
    fill();
  });
  fill();
  await done;
}

/** Publishes with so many unconfirmed at a time. */
export function barePublish(window: number): Way {
  return (port, count) =>
    onQueue(port, (queue) =>
      connected(port, async (connection) => {
        const sender = await senderTo(connection, queue);
        const startedMs = performance.now();
        await send(sender, queue, count, window);
        return perSecond(count, performance.now() - startedMs);
      }));
}

/** Receives with a window of credit, each message accepted. */
export function bareReceive(window: number): Way {
  return (port, count) =>
    onQueue(port, (queue) =>
      connected(port, async (connection) => {
        await send(await senderTo(connection, queue), queue, count, 500);
        const { done, tick } = countdown(count);
        const startedMs = performance.now();
        const receiver = connection.open_receiver({
          source: { address: queue, capabilities: ["queue"] },
          credit_window: window,
          autoaccept: false,
        });
        receiver.on("message", ({ delivery }: rhea.EventContext) => {
          delivery?.accept();
          tick();
        });
        await done;
        const rate = perSecond(count, performance.now() - startedMs);
        const closed = new Promise((resolve) => receiver.on("receiver_close", resolve));
        receiver.close();
        await closed;
        return rate;
      }));
}

/** The client alone, without this library: what there is to reach. */

import type rhea from "rhea";
import { connect, disconnect, Peer } from "../tests/artemis/peer.ts";
import { bareData, bareMessage } from "./_bare_message.ts";
import { countdown, dataOf, perSecond, URN } from "./_load.ts";

const DATA: object = dataOf(0);

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

/** A message of its own, with the same body and the same slots as ours. */
function message(): object {
  const { traceId, createdAtMs, text } = bareMessage(URN, DATA);
  return {
    durable: true,
    subject: URN,
    correlation_id: traceId,
    creation_time: createdAtMs,
    message_annotations: { "x-opt-jms-type": URN },
    application_properties: {
      bq_schema_version: "1",
      bq_source_lang: "node",
      bq_attempts: "0",
      bq_app_id: "babelqueue",
    },
    body: text,
  };
}

/** Opens a link and resolves when the broker takes messages on it. */
async function senderTo(connection: rhea.Connection, queue: string): Promise<rhea.Sender> {
  const sender = connection.open_sender({ target: { address: queue, capabilities: ["queue"] } });
  await new Promise<void>((resolve) => sender.once("sendable", () => resolve()));
  return sender;
}

/** Sends with so many unconfirmed at a time. */
async function send(sender: rhea.Sender, count: number, window: number): Promise<void> {
  const { done, tick } = countdown(count);
  let [sent, open] = [0, 0];
  const fill = (): void => {
    while (sent < count && open < window && sender.sendable()) {
      sender.send(message() as never);
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
        await send(sender, count, window);
        return perSecond(count, performance.now() - startedMs);
      }));
}

/** Receives with a window of credit, each message read and accepted. */
export function bareReceive(window: number): Way {
  return (port, count) =>
    onQueue(port, (queue) =>
      connected(port, async (connection) => {
        await send(await senderTo(connection, queue), count, 500);
        const { done, tick } = countdown(count);
        const startedMs = performance.now();
        const receiver = connection.open_receiver({
          source: { address: queue, capabilities: ["queue"] },
          credit_window: window,
          autoaccept: false,
        });
        receiver.on("message", ({ delivery, message }: rhea.EventContext) => {
          bareData(message?.body);
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

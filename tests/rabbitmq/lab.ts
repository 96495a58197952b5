/**
 * One queue on a real broker, with an App on it and an admin beside it.
 *
 * @module
 */

import { BabelQueue, type BabelQueueOptions, type TransportEvent } from "@bq/core";
import { type Recorder, recorder } from "@bq/core/testing";
import { rabbitmq, type RabbitmqOptions } from "@bq/rabbitmq";
import type { GetMessage } from "amqplib";
import { context } from "../_context.ts";
import type { RunningBroker } from "../brokers/mod.ts";
import { Admin } from "./admin.ts";

/** The transport of a lab. */
export type LabTransport = ReturnType<typeof rabbitmq>;

/** What a test works with; everything is closed and deleted at its end. */
export interface Lab {
  readonly admin: Admin;
  readonly queue: string;
  readonly url: string;
  /** A transport, not yet open. */
  transport(options?: RabbitmqOptions): LabTransport;
  /** An open transport, and what it reports. */
  open(options?: RabbitmqOptions): Promise<{ transport: LabTransport; events: TransportEvent[] }>;
  /** An App on the queue. */
  app(
    options?: BabelQueueOptions,
    transport?: LabTransport,
  ): { readonly bq: BabelQueue; readonly seen: Recorder };
}

/** Runs a test in a lab of its own. */
export async function inLab(
  broker: Pick<RunningBroker, "url">,
  work: (lab: Lab) => Promise<void>,
): Promise<void> {
  const admin = await Admin.open(broker.url);
  const closing: (() => Promise<void>)[] = [];
  const queue = admin.queue();
  const transport = (options: RabbitmqOptions = {}): LabTransport => {
    const made = rabbitmq(
      options.connection === undefined ? { url: broker.url, ...options } : options,
    );
    closing.push(() => made.close());
    return made;
  };
  const lab: Lab = {
    admin,
    queue,
    url: broker.url,
    transport,
    async open(options) {
      const made = transport(options);
      const events: TransportEvent[] = [];
      await made.open(context({ emit: (event) => void events.push(event) }));
      return { transport: made, events };
    },
    app(options = {}, made = transport()) {
      const seen = recorder();
      const bq = new BabelQueue(made, { queue, pollTimeoutMs: 200, onEvent: seen, ...options });
      closing.push(() => bq.close());
      return { bq, seen };
    },
  };
  try {
    await work(lab);
  } finally {
    for (const close of closing.reverse()) await close();
    await admin.close();
  }
}

/** The body of a message as text. */
export function bodyOf({ content }: GetMessage): string {
  return content.toString("utf8");
}

/** Headers of a message, without a prototype of their own. */
export function headersOf({ properties }: GetMessage): Record<string, unknown> {
  return { ...properties.headers };
}

/** The properties that a message has, without its headers. */
export function propertiesOf({ properties }: GetMessage): Record<string, unknown> {
  const set = Object.entries(properties).filter(([name, value]) =>
    name !== "headers" && value !== undefined
  );
  return Object.fromEntries(set);
}

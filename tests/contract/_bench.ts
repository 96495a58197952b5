/**
 * A worker on the memory transport, its clock standing still, for the worked cases that need one.
 *
 * @module
 */

import {
  BabelQueue,
  type BabelQueueOptions,
  type ConsumeOptions,
  type Delivery,
  type Handler,
  type JsonObject,
  memory,
  type MemoryTransport,
  type Peeked,
  type SettlementPolicy,
  type Verdict,
} from "@bq/core";
import { fakeClock, type Recorder, recorder } from "@bq/core/testing";
import { NOW_MS, RECEIVED_FROM as QUEUE, text } from "./_decisions.ts";
import { U } from "./_vectors.ts";

export { QUEUE };

/** A worker under test. */
export interface Bench {
  readonly bq: BabelQueue;
  readonly transport: MemoryTransport;
  readonly seen: Recorder;
  /** Data and attempt of every handler call. */
  readonly calls: (readonly [data: JsonObject | null, attempt: number])[];
}

/** The dead-letter queue of {@linkcode QUEUE}. */
export const DLQ: string = `${QUEUE}.dlq`;

/** Runs a worker's test on {@linkcode QUEUE}, its handler for U recording and then doing `handler`. */
export async function onBench(
  options: BabelQueueOptions,
  handler: Handler<JsonObject> | null,
  work: (bench: Bench) => Promise<void>,
  transport: MemoryTransport = memory(),
): Promise<void> {
  const seen = recorder();
  const clock = fakeClock(NOW_MS);
  const bq = new BabelQueue(transport, { queue: QUEUE, onEvent: seen, clock, ...options });
  const calls: [JsonObject | null, number][] = [];
  if (handler !== null) {
    bq.handle(U, (data, ctx) => {
      calls.push([data, ctx.attempt]);
      return handler(data, ctx);
    });
  }
  try {
    await work({ bq, transport, seen, calls });
  } finally {
    await bq.close();
  }
}

/** A handler that succeeds. */
export const done: Handler<JsonObject> = () => {};
/** A handler that fails. */
export const boom: Handler<JsonObject> = () => {
  throw new Error("boom");
};

/** The bodies on a queue, oldest first. */
export async function bodies(transport: MemoryTransport, queue: string): Promise<string[]> {
  const found: Peeked[] = [];
  for await (const message of transport.peek(queue)) found.push(message);
  return found.map(({ body }) => text(body));
}

/** The memory transport with settles that can be made to fail before they do anything. */
export function faulty(fault: (verdict: Verdict) => Error | undefined): MemoryTransport {
  const transport = memory();
  const subscribe = transport.subscribe.bind(transport);
  transport.subscribe = async (queue, options) => {
    const subscription = await subscribe(queue, options);
    const settle = subscription.settle.bind(subscription);
    subscription.settle = (delivery, verdict) => {
      const error = fault(verdict);
      return error === undefined ? settle(delivery, verdict) : Promise.reject(error);
    };
    return subscription;
  };
  return transport;
}

/** The memory transport with what other brokers add to a delivery, and with their rules. */
export function dressed(
  extra: Partial<Pick<Delivery, "schemaVersion" | "route">>,
  policy?: SettlementPolicy,
): MemoryTransport {
  const transport = memory();
  const subscribe = transport.subscribe.bind(transport);
  transport.subscribe = async (queue, options) => {
    const subscription = await subscribe(queue, options);
    const receive = subscription.receive.bind(subscription);
    // The same objects: a transport knows a delivery by its identity.
    subscription.receive = async (max, waitMs) =>
      (await receive(max, waitMs)).map((delivery) => Object.assign(delivery, extra));
    return subscription;
  };
  return Object.assign(transport, policy === undefined ? {} : { policy });
}

/** Works off what is there. */
export const once: ConsumeOptions = { waitMs: 0 };
/** One delivery only. */
export const first: ConsumeOptions = { waitMs: 0, maxMessages: 1 };

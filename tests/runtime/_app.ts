/**
 * An App for one test: its clock stands still, its events are kept, and it is closed at the end.
 *
 * @module
 */

import { BabelQueue, type BabelQueueOptions, memory, type MemoryTransport } from "@bq/core";
import type { Transport } from "@bq/core";
import { type FakeClock, fakeClock, type Recorder, recorder } from "@bq/core/testing";

/** The URN of every test that needs only one. */
export const URN = "urn:babel:orders:created";
/** Where the clock stands at the start. */
export const NOW_MS = 1_760_000_000_000;
/** The bytes of B0's `meta`; its queue is not the one that tests receive from, as after a move by hand. */
export const META: string =
  `{"id":"6f1c2a3e-0000-4000-8000-000000000001","queue":"billing","lang":"node","schema_version":1,` +
  `"created_at":1760000000123}`;
/** The members of B0, each as its bytes. */
const MEMBERS = {
  job: `"${URN}"`,
  trace_id: '"7b3d0000-0000-4000-8000-000000000002"',
  data: '{"order_id":1042}',
  meta: META,
  attempts: "0",
};
/** A canonical body on its first delivery. */
export const B0: string = envelope({});

/** B0 with members spelled otherwise; null leaves one out. */
export function envelope(members: Readonly<Record<string, string | null>>): string {
  const all = Object.entries({ ...MEMBERS, ...members }).filter(([, value]) => value !== null);
  return `{${all.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** UTF-8 of a text. */
export function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** A text of UTF-8. */
export function text(body: Uint8Array): string {
  return decoder.decode(body);
}

/** What a test works with. */
export interface Bench<T extends Transport = MemoryTransport> {
  readonly bq: BabelQueue;
  readonly transport: T;
  readonly clock: FakeClock;
  readonly seen: Recorder;
}

/** Runs a test on an App whose queue is `shop`, on memory where no transport is given. */
export async function withApp<T extends Transport = MemoryTransport>(
  options: BabelQueueOptions & { readonly transport?: T },
  work: (bench: Bench<T>) => Promise<void>,
): Promise<void> {
  const { transport = memory() as Transport as T, ...rest } = options;
  const seen = recorder();
  const clock = fakeClock(NOW_MS);
  const bq = new BabelQueue(transport, { queue: "shop", onEvent: seen, clock, ...rest });
  try {
    await work({ bq, transport, clock, seen });
  } finally {
    await ended(bq.close(), clock);
  }
}

/** Waits for something that may need the clock to move; the test's time-out is its bound. */
export async function ended<T>(promise: Promise<T>, clock: FakeClock): Promise<T> {
  let over = false;
  const mark = (): void => {
    over = true;
  };
  promise.then(mark, mark);
  await clock.advance(0);
  while (!over) await clock.advance(1_000);
  return await promise;
}

/** A door: who waits goes on when it is opened. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** Makes a door that is closed. */
export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** The bodies on a memory queue, in the order of delivery. */
export async function bodies(transport: MemoryTransport, queue: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { body } of transport.peek(queue)) found.push(text(body));
  return found;
}

/** What `console.warn` gets while `work` runs. */
export async function warned(work: () => void | Promise<void>): Promise<string[]> {
  const lines: string[] = [];
  const original = console.warn;
  console.warn = (...words: unknown[]) => {
    lines.push(words.map(String).join(" "));
  };
  try {
    await work();
  } finally {
    console.warn = original;
  }
  return lines;
}

/** Parsed members of a body. */
export function parsed(body: string | undefined): Record<string, unknown> {
  return JSON.parse(body ?? "null") as Record<string, unknown>;
}

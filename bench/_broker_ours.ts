/** What is measured of the whole of this library on every broker. */

import type { BabelQueue, RunOptions } from "@bq/core";
import { countdown, dataOf, inFlight, perSecond, URN } from "./_load.ts";

const DATA: object = dataOf(0);

/** Messages for `publishMany`, so many a call. */
export function* items(
  count: number,
  page: number,
): Generator<{ message: string; data: object }[]> {
  for (let left = count; left > 0; left -= page) {
    yield Array.from({ length: Math.min(left, page) }, () => ({ message: URN, data: DATA }));
  }
}

/** Publishes with so many unconfirmed at a time, each awaited; messages a second. */
export async function publishes(bq: BabelQueue, count: number, window: number): Promise<number> {
  await bq.publish(URN, DATA);
  return perSecond(count, await inFlight(count, window, () => bq.publish(URN, DATA)));
}

/** Publishes so many a call; messages a second. */
export async function publishesMany(bq: BabelQueue, count: number, page: number): Promise<number> {
  await bq.publish(URN, DATA);
  const start = performance.now();
  for (const batch of items(count, page)) await bq.publishMany(batch);
  return perSecond(count, performance.now() - start);
}

/** Fills the queue and works it off; messages a second of the work. */
export async function works(bq: BabelQueue, count: number): Promise<number> {
  for (const batch of items(count, 500)) await bq.publishMany(batch);
  return perSecond(count, await drain(bq, URN, count));
}

/** Works a queue off with the whole worker: decode, handler, settle, events. Its time, in milliseconds. */
export async function drain(
  bq: BabelQueue,
  urn: string,
  count: number,
  options: RunOptions = {},
): Promise<number> {
  const { done, tick } = countdown(count);
  bq.handle(urn, tick);
  await bq.connect();
  const stop = new AbortController();
  const start = performance.now();
  const run = bq.run({ ...options, signal: stop.signal });
  await done;
  const took = performance.now() - start;
  stop.abort();
  await run;
  return took;
}

/** The whole of this library on Artemis. */

import { artemis } from "@bq/artemis";
import { BabelQueue } from "@bq/core";
import { onQueue, perSecond, URN, type Way } from "./_artemis_bare.ts";
import { countdown, dataOf } from "./_redis_load.ts";

const DATA = dataOf(0);
/** Messages that are published at a time to fill a queue. */
const PAGE = 500;

async function withApp<T>(
  port: number,
  concurrency: number,
  use: (bq: BabelQueue) => Promise<T>,
): Promise<T> {
  return await onQueue(port, async (queue) => {
    const transport = artemis(`artemis://127.0.0.1:${port}`);
    const bq = new BabelQueue(transport, { queue, concurrency, onEvent: () => {} });
    try {
      await bq.connect();
      return await use(bq);
    } finally {
      await bq.close();
    }
  });
}

/** Publishes with so many unconfirmed at a time. */
export function publish(window: number): Way {
  return (port, count) =>
    withApp(port, 1, async (bq) => {
      await bq.publish(URN, DATA);
      const startedMs = performance.now();
      let left = count;
      await Promise.all(Array.from({ length: window }, async () => {
        while (left-- > 0) await bq.publish(URN, DATA);
      }));
      return perSecond(count, startedMs);
    });
}

/** A worker with so many handlers; its credit is as large. */
export function work(concurrency: number): Way {
  return (port, count) =>
    withApp(port, concurrency, async (bq) => {
      for (let left = count; left > 0; left -= PAGE) {
        const page = { length: Math.min(left, PAGE) };
        await bq.publishMany(Array.from(page, () => ({ message: URN, data: DATA })));
      }
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

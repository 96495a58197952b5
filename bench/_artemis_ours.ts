/** The whole of this library on Artemis. */

import { artemis } from "@bq/artemis";
import { BabelQueue } from "@bq/core";
import { onQueue, type Way } from "./_artemis_bare.ts";
import { publishes, works } from "./_broker_ours.ts";

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
  return (port, count) => withApp(port, 1, (bq) => publishes(bq, count, window));
}

/** A worker with so many handlers; its credit is as large. */
export function work(concurrency: number): Way {
  return (port, count) => withApp(port, concurrency, (bq) => works(bq, count));
}

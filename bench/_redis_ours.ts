/** The worker under test. */

import { BabelQueue } from "@bq/core";
import { redis, type RedisOptions } from "@bq/redis";
import { drain } from "./_broker_ours.ts";
import { dataOf, inFlight, type Load, pages, type Peer, pickUp } from "./_load.ts";

const URN = "urn:babel:orders:created";
const DATA: object = dataOf(0);

function url(port: number): string {
  return `redis://127.0.0.1:${port}/0`;
}

/** Fills a queue. */
export async function fillOurs(queue: string, load: Load, options: RedisOptions): Promise<void> {
  const bq = new BabelQueue(redis({ url: url(load.port), ...options }), { queue });
  const data = dataOf(load.pad);
  for (const length of pages(load)) {
    await bq.publishMany(Array.from({ length }, () => ({ message: URN, data })));
  }
  await bq.close();
}

/** Works a queue off with the whole worker; its time, in milliseconds. */
export async function drainOurs(queue: string, load: Load, options: RedisOptions): Promise<number> {
  const { port, count, concurrency } = load;
  const transport = redis({ url: url(port), ...options });
  const bq = new BabelQueue(transport, { queue, deadLetter: true, onEvent: () => {} });
  const took = await drain(bq, URN, count, { concurrency });
  await bq.close();
  return took;
}

/** Messages a second. */
export function ours(options: RedisOptions): Peer {
  return async (load) => {
    const queue = `b-${crypto.randomUUID()}`;
    await fillOurs(queue, load, options);
    return load.count / await drainOurs(queue, load, options) * 1_000;
  };
}

/** Publishes with so many in flight; messages a second. */
export async function publishOurs(
  port: number,
  count: number,
  layout: "legacy" | "zset",
): Promise<number> {
  const bq = new BabelQueue(redis({ url: url(port), layout }), {
    queue: `b-${crypto.randomUUID()}`,
  });
  await bq.connect();
  const took = await inFlight(count, 50, () => bq.publish(URN, DATA));
  await bq.close();
  return count / took * 1_000;
}

/** Publishes a hundred at a time; messages a second. */
export async function publishManyOurs(
  port: number,
  count: number,
  layout: "legacy" | "zset",
): Promise<number> {
  const bq = new BabelQueue(redis({ url: url(port), layout }), {
    queue: `b-${crypto.randomUUID()}`,
  });
  await bq.connect();
  const items = Array.from({ length: 100 }, () => ({ message: URN, data: DATA }));
  const start = performance.now();
  for (let at = 0; at < count; at += 100) await bq.publishMany(items);
  const took = performance.now() - start;
  await bq.close();
  return count / took * 1_000;
}

/** From the call of publish to the handler, on an idle worker; the median, in milliseconds. */
export async function pickUpOurs(port: number, times: number): Promise<number> {
  const transport = redis({ url: url(port), layout: "zset" });
  const bq = new BabelQueue(transport, { queue: `b-${crypto.randomUUID()}`, onEvent: () => {} });
  let entered: () => void = () => {};
  bq.handle(URN, () => entered());
  const stop = new AbortController();
  const run = bq.run({ signal: stop.signal });
  const median = await pickUp(times, (handled) => {
    entered = handled;
    return bq.publish(URN, DATA);
  });
  stop.abort();
  await run;
  await bq.close();
  return median;
}

/** The worker that a user would pick instead. */

import { Queue, Worker } from "bullmq";
import { countdown, dataOf, inFlight, type Load, pages, type Peer, pickUp } from "./_load.ts";

const DATA: object = dataOf(0);

/** Fills a queue. */
export async function fillBull(name: string, load: Load): Promise<void> {
  const { queue } = bull(load.port, name);
  const data = dataOf(load.pad);
  for (const length of pages(load)) {
    await queue.addBulk(Array.from({ length }, () => ({ name: "order", data })));
  }
  await queue.close();
}

/** Works a queue off; its time, in milliseconds. */
export async function drainBull(name: string, load: Load): Promise<number> {
  const { port, count, concurrency } = load;
  const { queue, connection } = bull(port, name);
  const { done, tick } = countdown(count);
  const worker = new Worker(name, () => Promise.resolve(tick()), {
    connection: { ...connection, maxRetriesPerRequest: null },
    concurrency,
    autorun: false,
  });
  await worker.waitUntilReady();
  const start = performance.now();
  void worker.run();
  await done;
  const took = performance.now() - start;
  await worker.close();
  await queue.obliterate({ force: true });
  await queue.close();
  return took;
}

/** BullMQ; messages a second. */
export const bullmq: Peer = async (load) => {
  const name = `bull-${crypto.randomUUID()}`;
  await fillBull(name, load);
  return load.count / await drainBull(name, load) * 1_000;
};

/** `add` with so many in flight; messages a second. */
export async function publishBull(port: number, count: number): Promise<number> {
  const { queue } = bull(port);
  await queue.waitUntilReady();
  const took = await inFlight(count, 50, () => queue.add("order", DATA));
  await queue.obliterate({ force: true });
  await queue.close();
  return count / took * 1_000;
}

/** `addBulk` of a hundred at a time; messages a second. */
export async function publishManyBull(port: number, count: number): Promise<number> {
  const { queue } = bull(port);
  await queue.waitUntilReady();
  const items = Array.from({ length: 100 }, () => ({ name: "order", data: DATA }));
  const start = performance.now();
  for (let at = 0; at < count; at += 100) await queue.addBulk(items);
  const took = performance.now() - start;
  await queue.obliterate({ force: true });
  await queue.close();
  return count / took * 1_000;
}

/** From the call of `add` to the handler, on an idle worker; the median, in milliseconds. */
export async function pickUpBull(port: number, times: number): Promise<number> {
  const { queue, connection } = bull(port);
  let entered: () => void = () => {};
  const worker = new Worker(queue.name, () => Promise.resolve(entered()), {
    connection: { ...connection, maxRetriesPerRequest: null },
  });
  await worker.waitUntilReady();
  const median = await pickUp(times, (handled) => {
    entered = handled;
    return queue.add("order", DATA);
  });
  await worker.close();
  await queue.obliterate({ force: true });
  await queue.close();
  return median;
}

function bull(
  port: number,
  name: string = `bull-${crypto.randomUUID()}`,
): { queue: Queue; connection: { host: string; port: number } } {
  const connection = { host: "127.0.0.1", port };
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true };
  return { queue: new Queue(name, { connection, defaultJobOptions }), connection };
}

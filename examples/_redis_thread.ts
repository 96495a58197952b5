// A worker of redis_bun_threads.ts, on a thread of its own.

import { BabelQueue } from "@bq/core";
import { redis } from "@bq/redis";

interface Thread {
  onmessage: ((event: { data: "stop" | { url: string; queue: string } }) => void) | null;
  postMessage(message: string): void;
}

const thread = globalThis as unknown as Thread;
const stopping = new AbortController();

thread.onmessage = ({ data }) => {
  if (data === "stop") stopping.abort();
  else void work(data.url, data.queue);
};

async function work(url: string, queue: string): Promise<void> {
  const bq = new BabelQueue(redis(url), { queue, deadLetter: true });
  bq.handle("urn:babel:orders:created", (order) => {
    thread.postMessage(`order ${order.order_id}`);
  });
  await bq.run({ concurrency: 10, signal: stopping.signal });
  await bq.close();
  thread.postMessage("stopped");
}

/** Starts `worker.ts` in a worker of this runtime and prints what it reports. */

import { once } from "node:events";
import { Worker as NodeWorker } from "node:worker_threads";

const url = new URL("./worker.ts", import.meta.url);
const seen = await ("Worker" in globalThis ? inWebWorker() : inWorkerThread());
console.log(JSON.stringify(seen));

async function inWebWorker(): Promise<unknown> {
  const worker = new Worker(url, { type: "module" });
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = (event: MessageEvent): void => resolve(event.data);
      worker.onerror = (event): void => reject(new Error(event.message));
    });
  } finally {
    worker.terminate();
  }
}

async function inWorkerThread(): Promise<unknown> {
  const worker = new NodeWorker(url);
  const [seen] = await once(worker, "message");
  await worker.terminate();
  return seen;
}

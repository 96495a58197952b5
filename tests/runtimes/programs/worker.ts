/** The body of a web `Worker` or of a Node worker thread: works on a queue and reports. */

import { BabelQueue, memory } from "@bq/core";

/** What a web worker's global offers. */
interface WorkerScope {
  postMessage?(message: unknown): void;
}

const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true });
const seen: unknown[] = [];
bq.handle("urn:babel:orders:created", (order) => void seen.push(order));
await bq.publish("urn:babel:orders:created", { order_id: 1042 });
await bq.consume({ waitMs: 0 });
await bq.close();

const scope = globalThis as WorkerScope;
if (scope.postMessage) scope.postMessage(seen);
else (await import("node:worker_threads")).parentPort?.postMessage(seen);

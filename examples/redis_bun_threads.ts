// One queue, a worker on every thread: each thread has its own connection and its own handlers.
// Run it with: bun examples/redis_bun_threads.ts [redis://localhost:6379/0?laravel=1] [queue] [threads] [messages]

import process from "node:process";
import { shutdownSignal } from "@bq/core/process";

const [url = "redis://localhost:6379/0?laravel=1", queue = "orders", threads = "2", messages] =
  process.argv.slice(2);
const { stop, dispose } = shutdownSignal();
let left = Number(messages ?? "Infinity");

const workers = Array.from({ length: Number(threads) }, () => {
  const thread = new Worker(new URL("./_redis_thread.ts", import.meta.url), { type: "module" });
  const { promise, resolve } = Promise.withResolvers<void>();
  thread.onmessage = ({ data }) => {
    if (data === "stopped") return resolve();
    console.log(data);
    if (--left === 0) stopAll();
  };
  thread.postMessage({ url, queue });
  return { thread, stopped: promise };
});

function stopAll(): void {
  for (const { thread } of workers) thread.postMessage("stop");
}

stop.addEventListener("abort", stopAll);
for (const { stopped } of workers) await stopped;
for (const { thread } of workers) thread.terminate();
dispose();
console.log("stopped in order");

// A service: works until it is told to stop, finishes what is in flight, then ends.
// Run it with: deno run examples/service.ts  (it stops itself after the third message)

import process from "node:process";
import { BabelQueue, memory } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";

const bq = new BabelQueue(memory(), {
  deadLetter: true,
  retry: { baseMs: 500, multiplier: 2, maxMs: 60_000, jitter: "full" },
});

bq.use(async (ctx, next) => {
  const start = performance.now();
  await next();
  console.log(`${ctx.urn} took ${(performance.now() - start).toFixed(1)} ms`);
});

let left = 3;
bq.handle("urn:babel:mail:send", async (mail, ctx) => {
  await ctx.effect(() => console.log(`mail to ${mail.to}`)); // skipped on a replay
  if (--left === 0) process.kill(process.pid, "SIGTERM"); // what an orchestrator does
}, { queue: "mail", timeoutMs: 30_000 });

await bq.publishMany(["a", "b", "c"].map((name) => ({
  message: "urn:babel:mail:send",
  data: { to: `${name}@example.com` },
  queue: "mail",
})));

const { stop, force, dispose } = shutdownSignal();
await bq.run({ queues: { mail: 2 }, signal: stop, forceSignal: force });
await bq.close();
dispose();
console.log("stopped in order");

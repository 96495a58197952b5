/**
 * A worker to be killed. It takes a `WorkerPlan` as JSON, prints one line for each step, each written
 * before the next step begins, and stops in order on SIGTERM.
 */

import { writeSync } from "node:fs";
import process from "node:process";
import { BabelQueue, describeEvent, systemClock } from "@bq/core";
import { shutdownSignal } from "@bq/core/process";
import { transportOf, URN, type WorkerPlan } from "../_plan.ts";

const plan: WorkerPlan = JSON.parse(process.argv[2] ?? "{}");
const { skewMs = 0, handlerMs = 0, hangFrom = Infinity, failEvery = 0 } = plan;
const { concurrency = 4, shutdownTimeoutMs = 10_000 } = plan;

/** The parent counts by these lines, so none may be lost in a buffer when the process is killed. */
const say = (line: string): void => void writeSync(1, `${line}\n`);

const bq = new BabelQueue(transportOf(plan), {
  queue: plan.queue,
  concurrency,
  shutdownTimeoutMs,
  maxAttempts: plan.maxAttempts ?? 10,
  deadLetter: true,
  clock: {
    now: () => systemClock.now() + skewMs,
    elapsed: systemClock.elapsed,
    sleep: systemClock.sleep,
  },
  onEvent: (event) => {
    if (event.type === "started" || event.type === "stopped") say(event.type);
    else if (event.level !== "info") say(`event ${describeEvent(event).replaceAll("\n", " ")}`);
  },
});
bq.handle(URN, async ({ n }, { signal }) => {
  say(`begun ${n}`);
  if (failEvery > 0 && Number(n) % failEvery === 0) throw new Error("asked to fail");
  if (Number(n) >= hangFrom) await systemClock.sleep(3_600_000, signal);
  if (handlerMs > 0) await systemClock.sleep(handlerMs);
  signal.throwIfAborted();
  say(`done ${n}`);
});

const { stop, force, dispose } = shutdownSignal();
stop.addEventListener("abort", () => say("stopping"));
await bq.run({ signal: stop, forceSignal: force });
await bq.close();
dispose();
say("closed");

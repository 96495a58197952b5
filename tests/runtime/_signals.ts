/**
 * A program that sends signals to itself and says what `shutdownSignal()` made of them. It needs a
 * process of its own, since test runners end at a SIGINT.
 *
 * @module
 */

import process from "node:process";
import { BabelQueue, memory } from "@bq/core";
import { shutdownSignal, type ShutdownSignals } from "@bq/core/process";
import { recorder } from "@bq/core/testing";

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

async function until(check: () => boolean): Promise<void> {
  while (!check()) await pause();
}

function kill(name: string): void {
  process.kill(process.pid, name);
}

function say({ stop, force }: ShutdownSignals): void {
  console.log(`stop=${stop.aborted} force=${force.aborted}`);
}

/** Sends the first two signals and says what became of each, then the third, which ends the process. */
async function send(names: readonly string[]): Promise<void> {
  const signals = shutdownSignal();
  say(signals);
  for (const [at, name] of names.entries()) {
    kill(name);
    await until(() => at === 0 ? signals.stop.aborted : at === 1 && signals.force.aborted);
    say(signals);
  }
}

/** Hears nothing once it is disposed of, and the other listener hears all the same. */
async function dispose(): Promise<void> {
  const [one, two] = [shutdownSignal(), shutdownSignal()];
  one.dispose();
  one.dispose();
  kill("SIGTERM");
  await until(() => two.stop.aborted);
  say(one);
  say(two);
  two.dispose();
}

/** The first signal lets a worker finish what it can, the second gives back the rest. */
async function work(): Promise<void> {
  const { stop, force, dispose } = shutdownSignal();
  const seen = recorder();
  const transport = memory();
  const bq = new BabelQueue(transport, { deadLetter: true, onEvent: seen, concurrency: 2 });
  const { promise, resolve } = Promise.withResolvers<void>();
  let started = 0;
  bq.handle("urn:babel:a", ({ hangs }) => {
    started++;
    return hangs ? new Promise(() => {}) : promise;
  });
  for (const hangs of [true, false, false]) await bq.publish("urn:babel:a", { hangs });
  const running = bq.run({ signal: stop, forceSignal: force });
  await until(() => started === 2);
  kill("SIGTERM");
  await until(() => stop.aborted);
  resolve();
  await seen.waitFor("handled");
  console.log(`in flight: ${bq.health().queues[0]?.inFlight}`);
  kill("SIGINT");
  await running;
  const { ready, inFlight } = await transport.size("default");
  console.log(`ready: ${ready}, in flight: ${inFlight}, returned: ${seen.of("returned").length}`);
  await bq.close();
  dispose();
}

const [scenario, ...rest] = process.argv.slice(2);
if (scenario === "send") await send(rest);
else if (scenario === "dispose") await dispose();
else if (scenario === "work") await work();
else if (scenario === "listen") shutdownSignal();

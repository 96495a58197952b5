/**
 * A worker at work on messages with leases.
 *
 * @module
 */

import type { BabelQueueOptions } from "@bq/core";
import { type Bench, ended, gate, URN, withApp } from "./_app.ts";
import { type ScriptedOptions, ScriptedTransport } from "./_scripted.ts";

/** What a test of leases works with. */
export interface LeaseBench extends Bench<ScriptedTransport> {
  /** Lets the handlers return. */
  readonly finish: () => void;
  readonly signals: AbortSignal[];
}

/** Runs a test with a worker at work whose handlers return when they are told to. */
export async function onLease(
  options: BabelQueueOptions & ScriptedOptions,
  work: (bench: LeaseBench) => Promise<void>,
): Promise<void> {
  const { leaseMs = 10_000, extends: extend = true, lanes = 1, ...app } = options;
  const transport = new ScriptedTransport({}, { leaseMs, extends: extend, lanes });
  await withApp({ transport, ...app }, async (bench) => {
    const { bq, clock } = bench;
    const working = gate();
    const signals: AbortSignal[] = [];
    bq.handle(URN, (_, ctx) => {
      signals.push(ctx.signal);
      return working.opened;
    });
    const running = bq.run();
    await clock.advance(0);
    await work({ ...bench, finish: working.open, signals });
    await ended(Promise.all([bq.stop(), running]), clock);
  });
}

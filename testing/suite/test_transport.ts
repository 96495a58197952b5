/**
 * The suite that every transport passes: what a transport claims in `capabilities` and `policy` is held
 * against what it does.
 *
 * @module
 */

import { concurrencyTests } from "./concurrency.ts";
import { deadLetterTests } from "./dead_letter.ts";
import { gateTests } from "./gate.ts";
import {
  FEATURES,
  type HarnessTransportOptions,
  type ResolvedFeatures,
  type SuiteFeatures,
  type TestFunction,
  type TransportHarness,
} from "./harness.ts";
import { headerTests } from "./headers.ts";
import { inspectTests } from "./inspect.ts";
import { leaseTests } from "./lease.ts";
import { poisonTests } from "./poison.ts";
import { publishTests } from "./publish.ts";
import { restartTests } from "./restart.ts";
import { retryTests } from "./retry.ts";
import { settleTests } from "./settle.ts";
import { shutdownTests } from "./shutdown.ts";
import { subscriptionTests } from "./subscription.ts";
import { unknownUrnTests } from "./unknown_urn.ts";
import type { SuiteTest } from "./_test.ts";
import { World } from "./_world.ts";

export type { HarnessTransportOptions, SuiteFeatures, TestFunction, TransportHarness };

const TESTS: readonly SuiteTest[] = [
  ...publishTests,
  ...subscriptionTests,
  ...settleTests,
  ...retryTests,
  ...deadLetterTests,
  ...poisonTests,
  ...unknownUrnTests,
  ...headerTests,
  ...concurrencyTests,
  ...leaseTests,
  ...shutdownTests,
  ...inspectTests,
  ...gateTests,
  ...restartTests,
];

/**
 * Registers the tests that every transport passes, under `<name>: <title>`. They run in real time, wait
 * up to 30 s for what has to happen, and measure no speed; give a test at least 60 s.
 *
 * @param test Registers one test with the runner at hand.
 * @param name Name of the transport, and of the mode it runs in.
 * @param make Prepares the broker for one test.
 * @param features What the harness can do and the broker cannot.
 * @throws {RangeError} when `skip` names a test that there is not.
 *
 * @example Hold the memory transport to it
 * ```ts
 * import { memory, MemoryStore } from "@bq/core";
 * import { testTransport } from "@bq/core/testing";
 * import assert from "node:assert/strict";
 *
 * // `Deno.test`, or `test` of node:test, bun:test or vitest, stands here in a test file.
 * const tests = new Map<string, () => Promise<void>>();
 * const test = (name: string, fn: () => Promise<void>) => tests.set(name, fn);
 *
 * testTransport(test, "memory", () => {
 *   const store = new MemoryStore();
 *   let queues = 0;
 *   return {
 *     transport: (options) => memory({ store, ...options }),
 *     queue: () => `queue-${queues++}`,
 *   };
 * }, { clockMs: 20, quietMs: 20 });
 *
 * assert(tests.size > 60);
 * await tests.get("memory: a body arrives byte for byte")!();
 * ```
 */
export function testTransport(
  test: TestFunction,
  name: string,
  make: () => TransportHarness | Promise<TransportHarness>,
  features: SuiteFeatures = {},
): void {
  const resolved: ResolvedFeatures = { ...FEATURES, ...features };
  const titles = new Set(TESTS.map(({ title }) => title));
  for (const title of Object.keys(resolved.skip)) {
    if (titles.has(title)) continue;
    throw new RangeError(`Cannot skip '${title}' of '${name}': the suite has no such test`);
  }
  for (const { title, needs, run } of TESTS) {
    if (Object.hasOwn(resolved.skip, title)) continue;
    if (needs !== undefined && !resolved[needs]) continue;
    test(`${name}: ${title}`, () => inWorld(make, resolved, run));
  }
}

async function inWorld(
  make: () => TransportHarness | Promise<TransportHarness>,
  features: ResolvedFeatures,
  run: (world: World) => Promise<void>,
): Promise<void> {
  const harness = await make();
  const world = new World(harness, features, await harness.queue());
  try {
    await run(world);
  } catch (error) {
    // What went wrong first says more than what the cleaning up met because of it.
    await world.close().catch(() => {});
    throw error;
  }
  await world.close();
}

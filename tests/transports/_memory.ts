import { memory, MemoryStore } from "@bq/core";
import type { SuiteFeatures, TransportHarness } from "@bq/core/testing";
import { type Faults, faulty } from "./_faulty.ts";

const LEASE_MS = 2_000;

/** What the suite may try on memory: its clock is exact, and what is there is there at once. */
export const FEATURES: SuiteFeatures = {
  failWrites: true,
  expireLease: true,
  leaseMs: LEASE_MS,
  clockMs: 20,
  quietMs: 20,
};

/** Memory as the suite sees it. */
export function memoryHarness(): TransportHarness {
  const store = new MemoryStore();
  const faults: Faults = { writesFail: false, aheadMs: 0 };
  let queues = 0;
  return {
    transport: (options) => faulty(memory({ store, ...options }), faults),
    queue: () => `queue-${queues++}`,
    failWrites(on) {
      faults.writesFail = on;
    },
    expireLease() {
      faults.aheadMs += LEASE_MS;
    },
  };
}

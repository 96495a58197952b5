import { memory, MemoryStore } from "@bq/core";
import { testTransport } from "@bq/core/testing";
import { test } from "../harness.ts";
import { type Faults, faulty } from "./_faulty.ts";

const LEASE_MS = 2_000;

testTransport(test, "memory", () => {
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
}, { failWrites: true, expireLease: true, leaseMs: LEASE_MS, clockMs: 20, quietMs: 20 });

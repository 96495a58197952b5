/** A module worker for `workerd test`: the transport suite on memory, at the edge. */

import { testTransport } from "@bq/core/testing";
import { FEATURES, memoryHarness } from "./_memory.ts";

const tests: (readonly [name: string, fn: () => Promise<void>])[] = [];
testTransport((name, fn) => tests.push([name, fn]), "memory", memoryHarness, FEATURES);

export default {
  async test(): Promise<void> {
    const failures: string[] = [];
    for (const [name, fn] of tests) {
      try {
        await fn();
      } catch (error) {
        failures.push(`${name}: ${error}`);
      }
    }
    if (failures.length > 0 || tests.length === 0) {
      throw new Error(`${failures.length} of ${tests.length} failed\n${failures.join("\n")}`);
    }
  },
};

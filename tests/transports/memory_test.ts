import { testTransport } from "@bq/core/testing";
import { test } from "../harness.ts";
import { FEATURES, memoryHarness } from "./_memory.ts";

testTransport(test, "memory", memoryHarness, FEATURES);

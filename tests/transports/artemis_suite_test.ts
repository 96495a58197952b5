import { testTransport } from "@bq/core/testing";
import { artemisHarness, FEATURES } from "../artemis/harness.ts";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { test } from "../harness.ts";

const ignore = await absentArtemis({ own: true });
const broker = brokerOfFile(ignore, () => startArtemis({ own: true }));
const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });

testTransport(run, "artemis", () => artemisHarness(broker()), FEATURES);

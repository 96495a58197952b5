import { testTransport } from "@bq/core/testing";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { FEATURES, rabbitmqHarness } from "../rabbitmq/harness.ts";

const ignore = await absentRabbitmq({ own: true });
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });

testTransport(run, "rabbitmq", () => rabbitmqHarness(broker()), {
  ...FEATURES,
  restartBroker: true,
});

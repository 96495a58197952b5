/** The suite once more: fetched instead of pushed, and on quorum queues. */

import { testTransport } from "@bq/core/testing";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { quickFeatures, rabbitmqHarness } from "./harness.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq());
const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });
const features = quickFeatures();

testTransport(run, "rabbitmq, get", () => rabbitmqHarness(broker(), { receive: "get" }), {
  ...features,
  skip: {
    ...features.skip,
    "of 500 messages with failing handlers none is lost and none ends twice":
      "looks in two queues in turn, one message a look; tests/rabbitmq/lossless_test.ts has it",
  },
});

testTransport(
  run,
  "rabbitmq, quorum",
  () => rabbitmqHarness(broker(), { declare: { arguments: { "x-queue-type": "quorum" } } }),
  features,
);

import { testTransport } from "@bq/core/testing";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { environment, test } from "../harness.ts";
import { FEATURES, kafkaHarness } from "../kafka/harness.ts";

const ignore = await absentKafka({ own: true });
const broker = brokerOfFile(ignore, () => startKafka({ own: true }));
const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });

const everything = "Deno" in globalThis || environment("BQ_TEST_KAFKA") === "all";

testTransport(
  run,
  "kafka, tiers",
  () => kafkaHarness({ broker: broker(), tiersMs: [300, 1_000] }),
  { ...FEATURES, restartBroker: everything },
);

/** Without tiers nothing but failures and delays goes another way, on any runtime. */
const ABOUT_RETRIES = /fail|retr|attempt|delay|poison|unknown|dead/;

testTransport(
  (name, fn) => everything && ABOUT_RETRIES.test(name) && !name.includes("of 500") && run(name, fn),
  "kafka, no tiers",
  () => kafkaHarness({ broker: broker(), tiersMs: [] }),
  FEATURES,
);

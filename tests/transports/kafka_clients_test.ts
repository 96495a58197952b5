import { testTransport } from "@bq/core/testing";
import { platformaticClient } from "@bq/kafka";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { environment, test } from "../harness.ts";
import { FEATURES, kafkaHarness } from "../kafka/harness.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());
/** What a client has to do with; the rest is tried with it on one runtime. */
const ABOUT_CLIENTS = /byte|publish|order|receive|settle|retr|headers|restart|stop|size/;
const everything = "Deno" in globalThis || environment("BQ_TEST_KAFKA") === "all";
const run = (name: string, fn: () => Promise<void>): void => {
  if (!everything && !ABOUT_CLIENTS.test(name)) return;
  // The client keeps a timer for a while after it was closed.
  test(name, fn, { ignore, sanitize: false });
};

testTransport(
  run,
  "kafka, @platformatic/kafka",
  () =>
    kafkaHarness({
      broker: broker(),
      tiersMs: [300, 1_000],
      given: ({ port }) => ({
        client: platformaticClient({ bootstrapBrokers: [`127.0.0.1:${port}`] }),
      }),
    }),
  FEATURES,
);

/** The older line of Kafka: what a client has to do with on the wire. The client is the same, so one runtime is enough. */

import { testTransport } from "@bq/core/testing";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { FEATURES, kafkaHarness } from "./harness.ts";

const version = "3.9.2";
const ignore = await absentKafka({ version });
const broker = brokerOfFile(ignore, () => startKafka({ version }));
const ABOUT_THE_WIRE = /byte|publish|receive|settle|retr|headers|shared|queue|stop|size/;

testTransport(
  (name, fn) => ABOUT_THE_WIRE.test(name) && test(name, fn, { ignore }),
  `kafka ${version}`,
  () => kafkaHarness({ broker: broker(), tiersMs: [300, 1_000] }),
  FEATURES,
);

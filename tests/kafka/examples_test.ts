/** The examples that need a broker. */

import { exampleTests } from "../_examples.ts";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { fresh } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());

exampleTests({
  name: "Kafka",
  files: "kafka",
  ignore,
  url: () => broker().url,
  queue: fresh,
  prints: [/order 1042, attempt 1/, /order 3, attempt 2/, /reminded of order 1042/],
  omits: /check:/,
});

/** The examples that need a broker. */

import { exampleTests } from "../_examples.ts";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { freshQueue } from "./harness.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

exampleTests({
  name: "Artemis",
  files: "artemis",
  ignore,
  url: () => broker().url,
  queue: freshQueue,
  prints: [/order 1042, attempt 1/, /reminded acme of order 1042/],
});

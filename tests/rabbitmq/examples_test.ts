/** The examples that need a RabbitMQ. */

import { exampleTests } from "../_examples.ts";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { freshQueue } from "./admin.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq());

exampleTests({
  name: "RabbitMQ",
  files: "rabbitmq",
  ignore,
  // The client needs the network and nothing else; the examples read their arguments.
  needs: [],
  url: () => broker().url,
  queue: freshQueue,
  prints: [/order 1042, attempt 2/, /reminded of order 1042/],
});

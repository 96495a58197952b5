/** The examples that need a server. */

import assert from "node:assert/strict";
import { exampleTests, runExample } from "../_examples.ts";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { runtimePath, test } from "../harness.ts";
import { freshQueue } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const url = (): string => `${broker().url}/0?laravel=1`;

exampleTests({
  name: "Redis",
  files: "redis",
  ignore,
  url,
  queue: freshQueue,
  prints: [/order 1042, attempt 1/, /reminded of order 1042/],
});

test("the example with threads works and ends by itself on bun", async () => {
  const place = [url(), freshQueue()];
  await runExample("bun", "redis_producer.ts", place);
  const worked = await runExample("bun", "redis_bun_threads.ts", [...place, "2", "4"]);
  assert.match(worked, /order 1042/);
  assert.match(worked, /stopped in order/);
}, { ignore: ignore || runtimePath("bun") === null });

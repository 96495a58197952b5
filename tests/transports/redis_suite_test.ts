import { testTransport } from "@bq/core/testing";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { featuresOf, redisHarness } from "../redis/harness.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });

for (const layout of ["legacy", "zset"] as const) {
  testTransport(
    run,
    `redis, ${layout}`,
    () => redisHarness({ broker: broker(), layout }),
    featuresOf(layout),
  );
}

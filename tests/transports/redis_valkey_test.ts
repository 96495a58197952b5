import { testTransport } from "@bq/core/testing";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { quickFeatures, redisHarness } from "../redis/harness.ts";

const ignore = await absentRedis({ kind: "valkey" });
const broker = brokerOfFile(ignore, () => startRedis({ kind: "valkey" }));
const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });

for (const layout of ["legacy", "zset"] as const) {
  testTransport(
    run,
    `valkey, ${layout}`,
    () => redisHarness({ broker: broker(), layout }),
    quickFeatures(layout),
  );
}

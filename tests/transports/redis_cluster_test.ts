import { testTransport } from "@bq/core/testing";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { quickFeatures, redisHarness } from "../redis/harness.ts";

const ignore = await absentRedis({ cluster: true });
const broker = brokerOfFile(ignore, () => startRedis({ cluster: true }));

for (const [client, layout] of [["own", "zset"], ["node-redis", "legacy"]] as const) {
  // The cluster client of ioredis lets its timers run out after it has disconnected.
  const sanitize = client !== "own";
  const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore, sanitize });
  testTransport(
    run,
    `redis cluster, ${client}, ${layout}`,
    () => redisHarness({ broker: broker(), layout, client, cluster: true }),
    quickFeatures(layout),
  );
}

import { testTransport } from "@bq/core/testing";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { environment, test } from "../harness.ts";
import { type ClientKind, quickFeatures, redisHarness } from "../redis/harness.ts";

type Layout = "legacy" | "zset";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());

/** Each client on one layout; with `BQ_TEST_REDIS=all` on both, the slow tests included. */
const CLIENTS: Readonly<Record<Exclude<ClientKind, "own">, Layout>> = {
  ioredis: "zset",
  iovalkey: "legacy",
  "node-redis": "zset",
  raw: "legacy",
};

for (const [client, layout] of Object.entries(CLIENTS) as [ClientKind, Layout][]) {
  // The parser of iovalkey keeps a timer for a while after a large reply.
  const sanitize = client !== "iovalkey";
  const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore, sanitize });
  const layouts: readonly Layout[] = environment("BQ_TEST_REDIS") === "all"
    ? ["legacy", "zset"]
    : [layout];
  for (const one of layouts) {
    testTransport(
      run,
      `redis, ${client}, ${one}`,
      () => redisHarness({ broker: broker(), layout: one, client }),
      quickFeatures(one),
    );
  }
}

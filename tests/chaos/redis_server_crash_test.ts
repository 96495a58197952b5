/** A server that goes away and comes back under working workers: nothing confirmed is lost. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { type Blow, blowsTo, brokerCrashTests } from "./_broker_crash_suite.ts";
import { LAYOUTS, redisStage, type Scene } from "./_scene.ts";

const ignore = await absentRedis({ own: true });
const redis = brokerOfFile(ignore, () => startRedis({ persistent: true }));
const CONCURRENCY = 8;

/** What a server can be told by anybody who is let in. */
const COMMANDS: readonly Blow<Scene>[] = [
  {
    title: "told to close every connection",
    runtimes: ["deno"],
    strike: (scene) =>
      scene.withServer(async (client) => {
        assert.ok(Number(await client.call("CLIENT", "KILL", "TYPE", "normal")) > 0);
      }),
  },
  {
    title: "told to forget its scripts",
    runtimes: ["deno"],
    strike: (scene) => scene.withServer((client) => client.call("SCRIPT", "FLUSH")),
  },
];

for (const layout of LAYOUTS) {
  const stage = redisStage(ignore, layout, redis);
  const blows = blowsTo(stage, {
    restarted: "restarted, its scripts forgotten",
    downMs: 1_500,
    frozen: "frozen for twice the time of a reservation",
    frozenMs: 4_000,
  });
  brokerCrashTests(stage, {
    blows: [...blows, ...COMMANDS],
    titleOf: (blow, runtime) =>
      `${layout}, ${runtime}: a worker goes on after the server was ${blow}`,
    concurrency: CONCURRENCY,
    handlerMs: 20,
    inFlight: 3 * CONCURRENCY,
    publishesAtOnce: true,
  });
}

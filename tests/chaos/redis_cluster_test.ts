/** Crashes on a Redis Cluster: of workers, and of its nodes. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { killUnderLoad } from "./_crash.ts";
import { LAYOUTS, play, type SceneOptions } from "./_scene.ts";

const ignore = await absentRedis({ cluster: true, own: true });
const redis = brokerOfFile(ignore, () => startRedis({ cluster: true, persistent: true }));
const TIMEOUT_MS = 300_000;

for (const layout of LAYOUTS) {
  const options = (): SceneOptions => {
    const { port, ports } = redis();
    return { layout, port, cluster: ports, retryAfter: 2 };
  };

  test(`${layout}: five workers on a cluster killed under load, one finishes`, async () => {
    await play(options(), (scene) => killUnderLoad(scene));
  }, { ignore, timeoutMs: TIMEOUT_MS });

  test(`${layout}: a worker goes on after all nodes were restarted`, async () => {
    await play(options(), async (scene) => {
      await scene.publish(0, 200);
      const worker = await scene.worker({ handlerMs: 10 });
      await worker.until(() => worker.done.size >= 40);
      await redis().restart();
      await scene.drained();
      assert.equal((await worker.stop()).code, 0);
      const { lost, dead } = await scene.outcome();
      assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });
}

/** Two workers whose clocks are two minutes apart. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { LAYOUTS, play, type Scene } from "./_scene.ts";
import type { WorkerProcess } from "./_worker.ts";

const ignore = await absentRedis();
const redis = brokerOfFile(ignore, () => startRedis());
const SKEW_MS = 60_000;
const MESSAGES = 300;

/** A worker ahead and a worker behind work the queue off; gives the one behind. */
async function workOff(scene: Scene): Promise<WorkerProcess> {
  await scene.publish(0, MESSAGES / 2);
  const plan = { concurrency: 4, handlerMs: 20 };
  const ahead = await scene.worker({ ...plan, skewMs: SKEW_MS });
  const behind = await scene.worker({ ...plan, skewMs: -SKEW_MS });
  await scene.publish(MESSAGES / 2, MESSAGES);
  await scene.drained();
  for (const worker of [ahead, behind]) assert.equal((await worker.stop()).code, 0);
  return behind;
}

for (const layout of LAYOUTS) {
  test(`${layout}: clocks 60 s ahead and behind lose nothing`, async () => {
    // The worker ahead sees every reservation of the other as expired: duplicates are the price.
    await play({ layout, port: redis().port, retryAfter: 90 }, async (scene) => {
      const behind = await workOff(scene);
      const { lost, duplicates, dead } = await scene.outcome();
      assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
      const others = duplicates.filter((n) => !behind.done.has(n));
      assert.deepEqual(others, [], "handled twice without a reservation that was taken over");
    });
  }, { ignore, timeoutMs: 180_000 });

  test(`${layout}: the worker ahead takes over what the one behind holds`, async () => {
    await play({ layout, port: redis().port, retryAfter: 90 }, async (scene) => {
      const concurrency = 4;
      await scene.publish(0, concurrency);
      const behind = await scene.worker({ concurrency, hangFrom: 0, skewMs: -SKEW_MS });
      await behind.until(() => behind.begun.size === concurrency);
      const ahead = await scene.worker({ concurrency, skewMs: SKEW_MS });
      await scene.drained();
      assert.equal((await ahead.stop()).code, 0);
      const { lost, duplicates, dead } = await scene.outcome();
      assert.deepEqual({ lost, duplicates, dead }, { lost: [], duplicates: [], dead: [] });
      assert.equal(ahead.done.size, concurrency);
    });
  }, { ignore, timeoutMs: 180_000 });

  test(`${layout}: nothing comes twice while a reservation is longer than the skew`, async () => {
    await play({ layout, port: redis().port, retryAfter: 600 }, async (scene) => {
      await workOff(scene);
      const { lost, duplicates, dead } = await scene.outcome();
      assert.deepEqual({ lost, duplicates, dead }, { lost: [], duplicates: [], dead: [] });
    });
  }, { ignore, timeoutMs: 180_000 });
}

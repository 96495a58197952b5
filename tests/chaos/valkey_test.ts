/** Crashes on Valkey: of workers, and of the server. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { killUnderLoad } from "./_crash.ts";
import { LAYOUTS, play } from "./_scene.ts";

const ignore = await absentRedis({ kind: "valkey", own: true });
const valkey = brokerOfFile(ignore, () => startRedis({ kind: "valkey", persistent: true }));
const TIMEOUT_MS = 240_000;

for (const layout of LAYOUTS) {
  test(`${layout}: five workers on Valkey killed under load, one finishes`, async () => {
    await play({ layout, port: valkey().port, retryAfter: 2 }, (scene) => killUnderLoad(scene));
  }, { ignore, timeoutMs: TIMEOUT_MS });

  test(`${layout}: a worker goes on after Valkey was restarted`, async () => {
    await play({ layout, port: valkey().port }, async (scene) => {
      await scene.publish(0, 200);
      const worker = await scene.worker({ handlerMs: 10 });
      await worker.until(() => worker.done.size >= 40);
      await valkey().restart();
      await scene.drained();
      assert.equal((await worker.stop()).code, 0);
      const { lost, dead } = await scene.outcome();
      assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });
}

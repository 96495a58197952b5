/** Workers that are killed, at every moment of a message's way: nothing is lost. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { eventually } from "../harness.ts";
import { LAYOUTS, redisStage } from "./_scene.ts";
import { sceneTest } from "./_stage.ts";
import { workerCrashTests } from "./_worker_crash_suite.ts";

const ignore = await absentRedis();
const redis = brokerOfFile(ignore, () => startRedis());

for (const layout of LAYOUTS) {
  const stage = redisStage(ignore, layout, redis);

  // A kill between a write and its answer cannot write twice: record and settle are one step.
  workerCrashTests(stage, { recordedTwice: 0 });

  sceneTest(
    stage,
    `${layout}: a worker killed while it stops leaves its messages to the next one`,
    async (scene) => {
      await scene.publish(0, 40);
      const first = await scene.worker({ concurrency: 8, handlerMs: 500 });
      await eventually(() => first.done.size >= 8 && first.begun.size > first.done.size);
      first.askToStop();
      await eventually(() => first.lines.includes("stopping"));
      await first.kill();
      const second = await scene.worker({ concurrency: 8 });
      await scene.drained();
      assert.equal((await second.stop()).code, 0);
      const { lost, duplicates, dead } = await scene.outcome();
      assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
      assert.ok(duplicates.length <= 16, `duplicates ${duplicates}`);
    },
  );
}

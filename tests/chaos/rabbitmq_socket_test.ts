/** Connections to RabbitMQ that are cut and stalled: nothing is lost, and nothing hangs. */

import assert from "node:assert/strict";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { eventually } from "../harness.ts";
import { rabbitmqStage } from "./_rabbitmq_scene.ts";
import { PATIENCE_MS, socketTests } from "./_socket_suite.ts";
import { proxyTest } from "./_stage.ts";

const ignore = await absentRabbitmq({ own: true });
const stage = rabbitmqStage(ignore, brokerOfFile(ignore, () => startRabbitmq({ own: true })));

proxyTest(
  stage,
  "a worker whose connections were cut, over and over, loses nothing",
  async (scene, proxy) => {
    const concurrency = 4;
    await scene.publish(0, 200);
    const worker = await scene.worker({
      concurrency,
      handlerMs: 10,
      maxAttempts: 100,
      failEvery: 7,
    });
    const cuts = 6;
    for (let times = 1; times <= cuts; times++) {
      await eventually(() => worker.done.size >= 20 * times);
      proxy.cut();
    }
    // Those that are asked to fail always do.
    await eventually(() => worker.done.size >= 200 - 29, { timeoutMs: PATIENCE_MS });
    assert.equal((await worker.stop()).code, 0);
    const last = await scene.worker({ concurrency, failEvery: 7, maxAttempts: 1 });
    await scene.drained();
    assert.equal((await last.stop()).code, 0);
    const { lost, duplicates } = await scene.outcome();
    assert.deepEqual(lost, []);
    const allowed = cuts * 3 * concurrency;
    assert.ok(duplicates.length <= allowed, `${duplicates.length} of ${allowed} duplicates`);
  },
);

socketTests(stage, {
  cut: "an idle worker whose connections were cut",
  stalled: "its connections were stalled",
  broker: "broker",
});

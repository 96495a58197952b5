/** Connections to RabbitMQ that are cut and stalled: nothing is lost, and nothing hangs. */

import assert from "node:assert/strict";
import {
  absentRabbitmq,
  brokerOfFile,
  type Proxy,
  startProxy,
  startRabbitmq,
} from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { playOnRabbitmq, type RabbitmqScene } from "./_rabbitmq_scene.ts";

const ignore = await absentRabbitmq({ own: true });
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const TIMEOUT_MS = 240_000;
/** A shutdown has this long, and the test waits far longer, so that it says nothing about speed. */
const SHUTDOWN_MS = 3_000;
const PATIENCE_MS = 60_000;

function through(name: string, act: (scene: RabbitmqScene, proxy: Proxy) => Promise<void>): void {
  test(`rabbitmq: ${name}`, async () => {
    const proxy = await startProxy(broker().port);
    try {
      const options = { broker: broker(), through: proxy.port };
      await playOnRabbitmq(options, (scene) => act(scene, proxy));
    } finally {
      await proxy.close();
    }
  }, { ignore, timeoutMs: TIMEOUT_MS });
}

through(
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

through(
  "an idle worker whose connections were cut takes the next message",
  async (scene, proxy) => {
    const worker = await scene.worker();
    for (let n = 0; n < 5; n++) {
      await eventually(() => proxy.connections > 0);
      proxy.cut();
      await eventually(() => scene.publish(n, n + 1));
      await eventually(() => scene.doneTimes(n) > 0, { timeoutMs: PATIENCE_MS });
    }
    await scene.drained();
    assert.equal((await worker.stop()).code, 0);
    assert.deepEqual((await scene.outcome()).lost, []);
  },
);

through("a worker goes on after its connections were stalled", async (scene, proxy) => {
  await scene.publish(0, 100);
  const worker = await scene.worker({ handlerMs: 10 });
  await eventually(() => worker.done.size >= 20);
  proxy.stall();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  proxy.resume();
  await scene.drained();
  assert.equal((await worker.stop()).code, 0);
  assert.deepEqual((await scene.outcome()).lost, []);
});

for (const how of ["refuse", "stall"] as const) {
  for (const busy of [true, false]) {
    const what = busy ? "a worker in its handlers" : "an idle worker";
    through(
      `${what} stops by its deadline when the broker is behind a ${how}`,
      async (scene, proxy) => {
        if (busy) await scene.publish(0, 4);
        const worker = await scene.worker({ hangFrom: 0, shutdownTimeoutMs: SHUTDOWN_MS });
        await eventually(() => worker.begun.size === (busy ? 4 : 0));
        proxy[how]();
        worker.askToStop();
        let ended = false;
        void worker.ended.then(() => ended = true);
        await eventually(() => ended, { timeoutMs: PATIENCE_MS });
        const { code, stderr } = await worker.ended;
        assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
        proxy.resume();
        proxy.cut();
        const next = await scene.worker();
        await scene.drained();
        await next.stop();
        assert.deepEqual((await scene.outcome()).lost, []);
      },
    );
  }
}

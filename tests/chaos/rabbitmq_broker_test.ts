/** A RabbitMQ that is killed, restarted, frozen and that closes connections in the middle of the work. */

import assert from "node:assert/strict";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { URN } from "./_plan.ts";
import { playOnRabbitmq, type RabbitmqScene, rabbitmqStage } from "./_rabbitmq_scene.ts";
import { frozenCloseTest } from "./_socket_suite.ts";

const ignore = await absentRabbitmq({ own: true });
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const TIMEOUT_MS = 240_000;
const CONCURRENCY = 4;

/** A node writes down within a few seconds after the declaration that there is a queue. */
const WRITTEN_DOWN_MS = 6_000;

for (const type of ["classic", "quorum"] as const) {
  test(
    `rabbitmq, ${type}: a broker killed with SIGKILL mid-flight loses nothing`,
    () =>
      playOnRabbitmq({ broker: broker(), type }, async (scene) => {
        await scene.publish(0, 300);
        await new Promise((resolve) => setTimeout(resolve, WRITTEN_DOWN_MS));
        const worker = await scene.worker({
          concurrency: CONCURRENCY,
          handlerMs: 10,
          maxAttempts: 100,
        });
        await worker.until(() => worker.done.size >= 40);
        await broker().kill();
        const before = new Set(worker.begun.keys());
        await broker().restart();
        await scene.publish(300, 320);
        await settled(scene, worker);
        const { lost, duplicates, dead } = await scene.outcome();
        assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
        // An acknowledgement has no confirmation: what came shortly before the end is forgotten.
        assert.deepEqual(duplicates.filter((n) => !before.has(n)), []);
      }),
    { ignore, timeoutMs: TIMEOUT_MS },
  );

  test(
    `rabbitmq, ${type}: a worker goes on after a restart and after its connections were closed`,
    () =>
      playOnRabbitmq({ broker: broker(), type }, async (scene) => {
        await scene.publish(0, 300);
        const worker = await scene.worker({
          concurrency: CONCURRENCY,
          handlerMs: 10,
          maxAttempts: 100,
        });
        await worker.until(() => worker.done.size >= 40);
        await broker().restart();
        await worker.until(() => worker.done.size >= 80);
        await broker().ctl("close_all_connections", "asked to");
        await worker.until(() => worker.done.size >= 120);
        await settled(scene, worker);
        const { lost, duplicates, dead } = await scene.outcome();
        assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
        const allowed = 2 * 3 * CONCURRENCY;
        assert.ok(duplicates.length <= allowed, `${duplicates.length} of ${allowed} duplicates`);
      }),
    { ignore, timeoutMs: TIMEOUT_MS },
  );
}

async function settled(
  scene: RabbitmqScene,
  worker: Awaited<ReturnType<RabbitmqScene["worker"]>>,
): Promise<void> {
  await scene.drained();
  assert.equal((await worker.stop()).code, 0);
  assert.equal(await scene.unsettled(), 0);
}

test(
  "rabbitmq: publishes around a SIGKILL are confirmed and there, or said to be uncertain",
  () =>
    playOnRabbitmq({ broker: broker() }, async (scene) => {
      const app = scene.app();
      const confirmed: number[] = [];
      let failed = 0;
      let going = true;
      await app.publish(URN, { n: 0 });
      scene.expect(0);
      await new Promise((resolve) => setTimeout(resolve, WRITTEN_DOWN_MS));
      const publishing = Promise.all(Array.from({ length: 8 }, async (_, lane) => {
        for (let n = lane + 1; going; n += 8) {
          try {
            await app.publish(URN, { n }, { timeoutMs: 30_000 });
            confirmed.push(n);
          } catch {
            failed++;
          }
        }
      }));
      await eventually(() => confirmed.length > 200);
      await broker().kill();
      await broker().restart();
      const before = confirmed.length;
      await eventually(() => confirmed.length > before + 100);
      going = false;
      await publishing;
      for (const n of confirmed) scene.expect(n);
      const worker = await scene.worker({ concurrency: 16 });
      await scene.drained();
      await worker.stop();
      const { lost, dead } = await scene.outcome();
      assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
      // What was under way at the kill, one each lane.
      assert.ok(failed <= 8, `${failed} failed`);
    }),
  { ignore, timeoutMs: TIMEOUT_MS },
);

frozenCloseTest(rabbitmqStage(ignore, broker), "broker");

/** Workers that are killed, at every moment of a message's way: nothing is lost. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { eventually, type Runtime, runtimePath, test } from "../harness.ts";
import { killUnderLoad } from "./_crash.ts";
import { LAYOUTS, play } from "./_scene.ts";

const ignore = await absentRedis();
const redis = brokerOfFile(ignore, () => startRedis());
const TIMEOUT_MS = 240_000;

/** The moments in detail run on Deno, the heaviest crash on every runtime. */
const RUNTIMES: readonly Runtime[] = ["deno", "bun", "node22"];

for (const layout of LAYOUTS) {
  test(
    `${layout}: a worker killed in its handlers leaves their messages to the next one`,
    async () => {
      await play({ layout, port: redis().port }, async (scene) => {
        const concurrency = 4;
        await scene.publish(0, 30);
        const first = await scene.worker({ concurrency, hangFrom: 10 });
        await eventually(() => first.done.size === 10 && first.begun.size === 10 + concurrency);
        await first.kill();
        const second = await scene.worker({ concurrency });
        await scene.drained();
        assert.equal((await second.stop()).code, 0);
        const { lost, duplicates, dead } = await scene.outcome();
        assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
        // Done and not yet acknowledged when the kill came: at most what was in flight.
        assert.ok(duplicates.length <= 2 * concurrency, `duplicates ${duplicates}`);
      });
    },
    { ignore, timeoutMs: TIMEOUT_MS },
  );

  test(
    `${layout}: a worker killed while it stops leaves its messages to the next one`,
    async () => {
      await play({ layout, port: redis().port }, async (scene) => {
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
      });
    },
    { ignore, timeoutMs: TIMEOUT_MS },
  );

  test(`${layout}: a worker that stops in order leaves nothing and repeats nothing`, async () => {
    // Reservations outlast the test: what another worker handles was given back, not recovered.
    await play({ layout, port: redis().port, retryAfter: 600 }, async (scene) => {
      await scene.publish(0, 60);
      const first = await scene.worker({ concurrency: 8, handlerMs: 100 });
      await eventually(() => first.done.size >= 10);
      const { code, stderr } = await first.stop();
      assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
      assert.deepEqual(first.begun, first.done);
      const second = await scene.worker({ concurrency: 8 });
      await scene.drained();
      await second.stop();
      const { lost, duplicates, dead } = await scene.outcome();
      assert.deepEqual({ lost, duplicates, dead }, { lost: [], duplicates: [], dead: [] });
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });

  test(
    `${layout}: handlers cut off by the shutdown deadline give their messages back`,
    async () => {
      await play({ layout, port: redis().port, retryAfter: 600 }, async (scene) => {
        await scene.publish(0, 12);
        const first = await scene.worker({ concurrency: 4, hangFrom: 4, shutdownTimeoutMs: 1_500 });
        await eventually(() => first.begun.size === 8);
        assert.equal((await first.stop()).code, 0);
        const second = await scene.worker({ concurrency: 4 });
        await scene.drained();
        await second.stop();
        const { lost, duplicates } = await scene.outcome();
        assert.deepEqual({ lost, duplicates }, { lost: [], duplicates: [] });
      });
    },
    { ignore, timeoutMs: TIMEOUT_MS },
  );

  test(
    `${layout}: published = handled + dead-lettered, with failing handlers and kills`,
    async () => {
      await play({ layout, port: redis().port, retryAfter: 2 }, async (scene) => {
        const plan = { concurrency: 8, failEvery: 10, maxAttempts: 3 };
        await scene.publish(0, 300);
        for (const dones of [40, 80]) {
          const worker = await scene.worker({ ...plan, handlerMs: 5 });
          await eventually(() => worker.done.size >= dones);
          await worker.kill();
        }
        const last = await scene.worker(plan);
        await scene.drained();
        await last.stop();
        const { lost, dead } = await scene.outcome();
        assert.deepEqual(lost, []);
        const failing = Array.from({ length: 30 }, (_, i) => i * 10);
        // A kill between a write and its answer cannot write twice: record and settle are one step.
        assert.deepEqual(dead, failing);
      });
    },
    { ignore, timeoutMs: TIMEOUT_MS },
  );

  for (const runtime of RUNTIMES) {
    test(`${layout}: five workers on ${runtime} killed under load, one finishes`, async () => {
      const options = { layout, port: redis().port, retryAfter: 2 };
      await play(options, (scene) => killUnderLoad(scene, runtime));
    }, { ignore: ignore || runtimePath(runtime) === null, timeoutMs: TIMEOUT_MS });
  }
}

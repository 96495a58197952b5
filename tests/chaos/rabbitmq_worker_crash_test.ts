/** Workers on RabbitMQ that are killed, at every moment of a message's way: nothing is lost. */

import assert from "node:assert/strict";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { eventually, type Runtime, runtimePath, test } from "../harness.ts";
import { killUnderLoad } from "./_crash.ts";
import { playOnRabbitmq, type RabbitmqScene } from "./_rabbitmq_scene.ts";

const ignore = await absentRabbitmq({ own: true });
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const TIMEOUT_MS = 240_000;
const RUNTIMES: readonly Runtime[] = ["deno", "bun", "node22"];

function crash(name: string, act: (scene: RabbitmqScene) => Promise<void>): void {
  test(`rabbitmq: ${name}`, () => playOnRabbitmq({ broker: broker() }, act), {
    ignore,
    timeoutMs: TIMEOUT_MS,
  });
}

crash("a worker killed in its handlers leaves their messages to the next one", async (scene) => {
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
  assert.ok(duplicates.length <= 2 * concurrency, `duplicates ${duplicates}`);
});

crash("a worker that stops in order leaves nothing and repeats nothing", async (scene) => {
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

crash("handlers cut off by the shutdown deadline give their messages back", async (scene) => {
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

crash("published = handled + dead-lettered, with failing handlers and kills", async (scene) => {
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
  // A kill between a record and its acknowledgement writes the record once more.
  assert.deepEqual([...new Set(dead)], failing);
});

for (const runtime of RUNTIMES) {
  test(
    `rabbitmq: five workers on ${runtime} killed under load, one finishes`,
    () => playOnRabbitmq({ broker: broker() }, (scene) => killUnderLoad(scene, runtime)),
    { ignore: ignore || runtimePath(runtime) === null, timeoutMs: TIMEOUT_MS },
  );
}

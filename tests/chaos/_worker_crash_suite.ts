/** Workers that are killed, at every moment of a message's way: nothing is lost. */

import assert from "node:assert/strict";
import { eventually } from "../harness.ts";
import type { BrokerScene } from "./_broker_scene.ts";
import { killUnderLoad } from "./_crash.ts";
import { sceneTest, type Stage } from "./_stage.ts";

/** How brokers differ when a worker crashes. */
export interface WorkerCrashes {
  /**
   * How many failures two kills may leave with a second record: those that were written and not yet
   * settled. None where record and settle are one step.
   *
   * @default {16}, as many as two workers have in hand
   */
  readonly recordedTwice?: number;
}

/** Registers the tests of a broker that gives back what a killed worker had in hand. */
export function workerCrashTests(stage: Stage, crashes: WorkerCrashes = {}): void {
  const { name } = stage;
  sceneTest(
    stage,
    `${name}: a worker killed in its handlers leaves their messages to the next one`,
    killInHandlers,
  );
  inOrderTest(stage);
  sceneTest(
    stage,
    `${name}: handlers cut off by the shutdown deadline give their messages back`,
    cutOffHandlers,
    { longLeases: true },
  );
  sceneTest(
    stage,
    `${name}: published = handled + dead-lettered, with failing handlers and kills`,
    (scene) => failAndKill(scene, crashes),
  );
  // The moments in detail run on Deno, the heaviest crash on every runtime.
  for (const runtime of ["deno", "bun", "node22"] as const) {
    sceneTest(
      stage,
      `${name}: five workers on ${runtime} killed under load, one finishes`,
      (scene) => killUnderLoad(scene, runtime),
      { runtime },
    );
  }
}

/** Registers the test of a worker that is no crash: what it leaves is there for the next one. */
export function inOrderTest(stage: Stage): void {
  sceneTest(
    stage,
    `${stage.name}: a worker that stops in order leaves nothing and repeats nothing`,
    stopInOrder,
    { longLeases: true },
  );
}

async function killInHandlers(scene: BrokerScene): Promise<void> {
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
}

async function stopInOrder(scene: BrokerScene): Promise<void> {
  await scene.publish(0, 60);
  const first = await scene.worker({ concurrency: 8, handlerMs: 100 });
  await eventually(() => first.done.size >= 10);
  scene.assertInOrder(await first.stop());
  assert.deepEqual(first.begun, first.done);
  const second = await scene.worker({ concurrency: 8 });
  await scene.drained();
  await second.stop();
  const { lost, duplicates, dead } = await scene.outcome();
  assert.deepEqual({ lost, duplicates, dead }, { lost: [], duplicates: [], dead: [] });
}

async function cutOffHandlers(scene: BrokerScene): Promise<void> {
  await scene.publish(0, 12);
  const first = await scene.worker({ concurrency: 4, hangFrom: 4, shutdownTimeoutMs: 1_500 });
  await eventually(() => first.begun.size === 8);
  assert.equal((await first.stop()).code, 0);
  const second = await scene.worker({ concurrency: 4 });
  await scene.drained();
  await second.stop();
  const { lost, duplicates } = await scene.outcome();
  assert.deepEqual({ lost, duplicates }, { lost: [], duplicates: [] });
}

/** Kills two workers whose handlers fail now and then: each failing message has its record. */
export async function failAndKill(
  scene: BrokerScene,
  { concurrency = 8, recordedTwice = 2 * concurrency }: WorkerCrashes & {
    readonly concurrency?: number;
  } = {},
): Promise<void> {
  const plan = { concurrency, failEvery: 10, maxAttempts: 3 };
  await scene.publish(0, 300);
  for (const dones of [40, 80]) {
    const worker = await scene.worker({ ...plan, handlerMs: 5 });
    await worker.killAfter(dones);
  }
  const last = await scene.worker(plan);
  await scene.drained();
  await last.stop();
  const { lost, dead } = await scene.outcome();
  assert.deepEqual(lost, []);
  // A kill between the record and its settle writes the record once more.
  const failing = Array.from({ length: 30 }, (_, i) => i * 10);
  assert.deepEqual([...new Set(dead)], failing);
  assert.ok(dead.length <= failing.length + recordedTwice, `${dead.length} records`);
}

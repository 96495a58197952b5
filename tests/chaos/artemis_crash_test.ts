/** Workers that are killed and brokers that go away: nothing confirmed is lost. */

import assert from "node:assert/strict";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { eventually, type Runtime, runtimePath, test } from "../harness.ts";
import { type ArtemisScene, playOnArtemis } from "./_artemis_scene.ts";
import { killUnderLoad } from "./_crash.ts";

const ignore = await absentArtemis({ own: true });
const artemis = brokerOfFile(ignore, () => startArtemis({ own: true }));
const TIMEOUT_MS = 240_000;
const CONCURRENCY = 8;
const MESSAGES = 400;

const play = (act: (scene: ArtemisScene) => Promise<void>): Promise<void> =>
  playOnArtemis({ broker: artemis() }, act);

test("artemis: a worker killed in its handlers leaves their messages to the next one", async () => {
  await play(async (scene) => {
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
}, { ignore, timeoutMs: TIMEOUT_MS });

test("artemis: a worker that stops in order leaves nothing and repeats nothing", async () => {
  await play(async (scene) => {
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

test("artemis: handlers cut off by the shutdown deadline give their messages back", async () => {
  await play(async (scene) => {
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
}, { ignore, timeoutMs: TIMEOUT_MS });

test("artemis: published = handled + dead-lettered, with failing handlers and kills", async () => {
  await play(async (scene) => {
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
    // A kill between the record and the acknowledgement writes the record once more.
    const failing = Array.from({ length: 30 }, (_, i) => i * 10);
    assert.deepEqual([...new Set(dead)], failing);
    assert.ok(dead.length <= failing.length + 2 * plan.concurrency, `${dead.length} records`);
  });
}, { ignore, timeoutMs: TIMEOUT_MS });

for (const runtime of ["deno", "bun", "node22"] as const) {
  test(`artemis: five workers on ${runtime} killed under load, one finishes`, async () => {
    await play((scene) => killUnderLoad(scene, runtime));
  }, { ignore: ignore || runtimePath(runtime) === null, timeoutMs: TIMEOUT_MS });
}

/** What happens to the broker, once, while a worker is at work. */
interface Blow {
  readonly title: string;
  readonly runtimes: readonly Runtime[];
  strike(): Promise<unknown>;
}

const BLOWS: readonly Blow[] = [
  {
    title: "restarted",
    runtimes: ["deno", "bun", "node22"],
    strike: () => artemis().restart(),
  },
  {
    title: "killed and started again",
    runtimes: ["deno"],
    async strike() {
      await artemis().kill();
      await artemis().restart();
    },
  },
  {
    title: "frozen for a while",
    runtimes: ["deno"],
    async strike() {
      await artemis().pause();
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      await artemis().resume();
    },
  },
];

for (const { title, runtimes, strike } of BLOWS) {
  for (const runtime of runtimes) {
    test(`artemis ${title} under a worker on ${runtime}: it goes on by itself`, async () => {
      await play(async (scene) => {
        await scene.publish(0, MESSAGES);
        const worker = await scene.worker({ concurrency: CONCURRENCY, handlerMs: 10 }, runtime);
        await eventually(() => worker.done.size >= 40);
        await strike();
        const before = worker.done.size;
        await eventually(async () => {
          await scene.publish(MESSAGES, MESSAGES + 20);
        });
        await scene.drained();
        assert.ok(worker.done.size > before);
        assert.equal(await scene.unsettled(), 0);
        const { code, stderr } = await worker.stop();
        assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
        const { lost, duplicates, dead } = await scene.outcome();
        assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
        // What was in flight may come again, nothing else.
        const allowed = 3 * CONCURRENCY;
        assert.ok(duplicates.length <= allowed, `${duplicates.length} of ${allowed} duplicates`);
      });
    }, { ignore: ignore || runtimePath(runtime) === null, timeoutMs: TIMEOUT_MS });
  }
}

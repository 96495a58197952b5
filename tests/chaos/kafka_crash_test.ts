/** Workers that are killed and brokers that go away: nothing confirmed is lost. */

import assert from "node:assert/strict";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { eventually, runtimePath } from "../harness.ts";
import { blowsTo, brokerCrashTests } from "./_broker_crash_suite.ts";
import { type KafkaScene, kafkaStage, PARTITIONS } from "./_kafka_scene.ts";
import { URN } from "./_plan.ts";
import { sceneTest, type Stage } from "./_stage.ts";
import { failAndKill, inOrderTest } from "./_worker_crash_suite.ts";

const ignore = await absentKafka({ own: true });
const stage = kafkaStage(ignore, brokerOfFile(ignore, () => startKafka({ own: true })));
/** As many as there are partitions are at work at a time; their commits may be on their way as well. */
const IN_FLIGHT = 2 * PARTITIONS;

/** For tests with workers on other runtimes than Deno. */
const wide: Stage<KafkaScene> = {
  ...stage,
  ignore: ignore || runtimePath("bun") === null || runtimePath("node22") === null,
};

sceneTest(
  wide,
  "kafka: workers killed in their handlers leave their messages to the next one",
  async (scene) => {
    await scene.publish(0, 300);
    for (const runtime of ["deno", "bun", "node22"] as const) {
      const count = scene.doneCount;
      const worker = await scene.worker({ concurrency: PARTITIONS, handlerMs: 5 }, runtime);
      await worker.killAfter(40);
      assert.ok(scene.doneCount > count);
    }
    const last = await scene.worker({ concurrency: PARTITIONS });
    await scene.drained();
    assert.equal((await last.stop()).code, 0);
    const { lost, duplicates, dead } = await scene.outcome();
    assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
    assert.ok(duplicates.length <= 3 * IN_FLIGHT, `${duplicates.length} duplicates`);
  },
);

sceneTest(
  stage,
  "kafka: processes with different queues share a group, whichever of them is killed",
  async (scene) => {
    const other = `${scene.queue}-other`;
    await scene.prepare(other);
    const group = scene.queue;
    const leader = await scene.worker({ group });
    const second = await scene.worker({ queue: other, group }, "bun");
    await scene.publish(0, 20);
    const app = scene.app({ queue: other });
    const publish = (from: number): Promise<unknown> =>
      app.publishMany(
        Array.from({ length: 20 }, (_, n) => ({ message: URN, data: { n: from + n } })),
      );
    await publish(100);
    await eventually(() => leader.done.size === 20 && second.done.size === 20);
    await leader.kill();
    await publish(200);
    await eventually(() => second.done.size === 40, { timeoutMs: 60_000 });
    assert.equal((await second.stop()).code, 0);
  },
  { runtime: "bun" },
);

inOrderTest(stage);

sceneTest(
  stage,
  "kafka: published = handled + dead-lettered, with tiers, failing handlers and kills",
  // A re-injector is killed with each worker.
  (scene) => failAndKill(scene, { concurrency: PARTITIONS, recordedTwice: 2 * IN_FLIGHT }),
);

sceneTest(stage, "kafka: of 10,000 messages with failing handlers none is lost", async (scene) => {
  const plan = { concurrency: PARTITIONS, failEvery: 7, maxAttempts: 2 };
  await scene.publish(0, 10_000);
  const workers = [await scene.worker(plan), await scene.worker(plan, "bun")];
  await scene.drained(200_000);
  for (const worker of workers) assert.equal((await worker.stop()).code, 0);
  const { lost, dead } = await scene.outcome();
  assert.deepEqual(lost, []);
  assert.equal(new Set(dead).size, Math.ceil(10_000 / 7));
}, { runtime: "bun" });

brokerCrashTests(stage, {
  blows: blowsTo(stage, { frozen: "frozen beyond the session" }),
  concurrency: PARTITIONS,
  inFlight: IN_FLIGHT,
});

/** Workers that are killed and brokers that go away: nothing confirmed is lost. */

import assert from "node:assert/strict";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { eventually, type Runtime, runtimePath, test } from "../harness.ts";
import { URN } from "./_plan.ts";
import { type KafkaScene, PARTITIONS, playOnKafka } from "./_kafka_scene.ts";

const ignore = await absentKafka({ own: true });
const kafka = brokerOfFile(ignore, () => startKafka({ own: true }));
const TIMEOUT_MS = 240_000;
const MESSAGES = 400;
/** As many as there are partitions are at work at a time; their commits may be on their way as well. */
const IN_FLIGHT = 2 * PARTITIONS;

const play = (act: (scene: KafkaScene) => Promise<void>): Promise<void> =>
  playOnKafka(kafka(), act);

test("kafka: workers killed in their handlers leave their messages to the next one", async () => {
  await play(async (scene) => {
    await scene.publish(0, 300);
    for (const runtime of ["deno", "bun", "node22"] as const) {
      const count = scene.doneCount;
      const worker = await scene.worker({ concurrency: PARTITIONS, handlerMs: 5 }, runtime);
      await worker.until(() => worker.done.size >= 40);
      await worker.kill();
      assert.ok(scene.doneCount > count);
    }
    const last = await scene.worker({ concurrency: PARTITIONS });
    await scene.drained();
    assert.equal((await last.stop()).code, 0);
    const { lost, duplicates, dead } = await scene.outcome();
    assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
    assert.ok(duplicates.length <= 3 * IN_FLIGHT, `${duplicates.length} duplicates`);
  });
}, {
  ignore: ignore || runtimePath("bun") === null || runtimePath("node22") === null,
  timeoutMs: TIMEOUT_MS,
});

test(
  "kafka: processes with different queues share a group, whichever of them is killed",
  async () => {
    await play(async (scene) => {
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
    });
  },
  { ignore: ignore || runtimePath("bun") === null, timeoutMs: TIMEOUT_MS },
);

test("kafka: a worker that stops in order leaves nothing and repeats nothing", async () => {
  await play(async (scene) => {
    await scene.publish(0, 60);
    const first = await scene.worker({ concurrency: 8, handlerMs: 100 });
    await eventually(() => first.done.size >= 10);
    const { code, stderr } = await first.stop();
    assert.deepEqual({ code, stderr: withoutNotice(stderr) }, { code: 0, stderr: "" });
    assert.deepEqual(first.begun, first.done);
    const second = await scene.worker({ concurrency: 8 });
    await scene.drained();
    await second.stop();
    const { lost, duplicates, dead } = await scene.outcome();
    assert.deepEqual({ lost, duplicates, dead }, { lost: [], duplicates: [], dead: [] });
  });
}, { ignore, timeoutMs: TIMEOUT_MS });

test(
  "kafka: published = handled + dead-lettered, with tiers, failing handlers and kills",
  async () => {
    await play(async (scene) => {
      const plan = { concurrency: PARTITIONS, failEvery: 10, maxAttempts: 3 };
      await scene.publish(0, 300);
      for (const dones of [40, 80]) {
        // Its re-injector is killed with it.
        const worker = await scene.worker({ ...plan, handlerMs: 5 });
        await worker.until(() => worker.done.size >= dones);
        await worker.kill();
      }
      const last = await scene.worker(plan);
      await scene.drained();
      await last.stop();
      const { lost, dead } = await scene.outcome();
      assert.deepEqual(lost, []);
      // A kill between the record and the commit writes the record once more.
      const failing = Array.from({ length: 30 }, (_, i) => i * 10);
      assert.deepEqual([...new Set(dead)], failing);
      assert.ok(dead.length <= failing.length + 2 * IN_FLIGHT, `${dead.length} records`);
    });
  },
  { ignore, timeoutMs: TIMEOUT_MS },
);

test("kafka: of 10,000 messages with failing handlers none is lost", async () => {
  await play(async (scene) => {
    const plan = { concurrency: PARTITIONS, failEvery: 7, maxAttempts: 2 };
    await scene.publish(0, 10_000);
    const workers = [await scene.worker(plan), await scene.worker(plan, "bun")];
    await scene.drained(200_000);
    for (const worker of workers) assert.equal((await worker.stop()).code, 0);
    const { lost, dead } = await scene.outcome();
    assert.deepEqual(lost, []);
    assert.equal(new Set(dead).size, Math.ceil(10_000 / 7));
  });
}, { ignore: ignore || runtimePath("bun") === null, timeoutMs: TIMEOUT_MS });

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
    strike: () => kafka().restart(),
  },
  {
    title: "killed and started again",
    runtimes: ["deno"],
    async strike() {
      await kafka().kill();
      await kafka().restart();
    },
  },
  {
    title: "frozen beyond the session",
    runtimes: ["deno"],
    async strike() {
      await kafka().pause();
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      await kafka().resume();
    },
  },
];

for (const { title, runtimes, strike } of BLOWS) {
  for (const runtime of runtimes) {
    test(`kafka ${title} under a worker on ${runtime}: it goes on by itself`, async () => {
      await play(async (scene) => {
        await scene.publish(0, MESSAGES);
        const worker = await scene.worker({ concurrency: PARTITIONS, handlerMs: 10 }, runtime);
        await worker.until(() => worker.done.size >= 40);
        await strike();
        const before = worker.done.size;
        await eventually(async () => {
          await scene.publish(MESSAGES, MESSAGES + 20);
        });
        await scene.drained();
        assert.ok(worker.done.size > before);
        const { code, stderr } = await worker.stop();
        assert.deepEqual({ code, stderr: withoutNotice(stderr) }, { code: 0, stderr: "" });
        const { lost, duplicates, dead } = await scene.outcome();
        assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
        // What was in flight may come again, nothing else.
        assert.ok(duplicates.length <= IN_FLIGHT, `${duplicates.length} duplicates`);
      });
    }, { ignore: ignore || runtimePath(runtime) === null, timeoutMs: TIMEOUT_MS });
  }
}

/** The client sets one timer of a negative length, which newer runtimes remark upon. */
function withoutNotice(stderr: string): string {
  return stderr.split("\n").filter((line) => !/Timeout|--trace-warnings/.test(line)).join("\n");
}

/** A server that goes away and comes back under working workers: nothing confirmed is lost. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { eventually, type Runtime, runtimePath, test } from "../harness.ts";
import { LAYOUTS, play, type Scene } from "./_scene.ts";

const ignore = await absentRedis({ own: true });
const redis = brokerOfFile(ignore, () => startRedis({ persistent: true }));
const TIMEOUT_MS = 240_000;
const CONCURRENCY = 8;
const MESSAGES = 400;

/** What happens to the server, once, while a worker is at work. */
interface Blow {
  readonly title: string;
  readonly runtimes: readonly Runtime[];
  strike(scene: Scene): Promise<unknown>;
}

const BLOWS: readonly Blow[] = [
  {
    title: "restarted, its scripts forgotten",
    runtimes: ["deno", "bun", "node22"],
    strike: () => redis().restart(),
  },
  {
    title: "killed and started again",
    runtimes: ["deno"],
    async strike() {
      await redis().kill();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await redis().restart();
    },
  },
  {
    title: "told to close every connection",
    runtimes: ["deno"],
    strike: (scene) =>
      scene.withServer(async (client) => {
        assert.ok(Number(await client.call("CLIENT", "KILL", "TYPE", "normal")) > 0);
      }),
  },
  {
    title: "told to forget its scripts",
    runtimes: ["deno"],
    strike: (scene) => scene.withServer((client) => client.call("SCRIPT", "FLUSH")),
  },
  {
    title: "frozen for twice the time of a reservation",
    runtimes: ["deno"],
    async strike() {
      await redis().pause();
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      await redis().resume();
    },
  },
];

for (const layout of LAYOUTS) {
  for (const { title, runtimes, strike } of BLOWS) {
    for (const runtime of runtimes) {
      test(`${layout}, ${runtime}: a worker goes on after the server was ${title}`, async () => {
        await play({ layout, port: redis().port, retryAfter: 2 }, async (scene) => {
          await scene.publish(0, MESSAGES);
          const worker = await scene.worker({ concurrency: CONCURRENCY, handlerMs: 20 }, runtime);
          await eventually(() => worker.done.size >= 40);
          await strike(scene);
          const before = worker.done.size;
          await scene.publish(MESSAGES, MESSAGES + 20);
          await scene.drained();
          assert.ok(worker.done.size > before);
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
}

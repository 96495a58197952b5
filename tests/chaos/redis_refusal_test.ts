/** A server that refuses: out of memory, or a key of the wrong type. */

import assert from "node:assert/strict";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { recorder } from "@bq/core/testing";
import { eventually, test } from "../harness.ts";
import { URN } from "./_plan.ts";
import { LAYOUTS, play, type Scene } from "./_scene.ts";
import type { WorkerProcess } from "./_worker.ts";

const ignore = await absentRedis({ own: true });
const redis = brokerOfFile(
  ignore,
  () => startRedis({ conf: [["maxmemory-policy", "noeviction"]] }),
);
const TIMEOUT_MS = 120_000;

/** Takes all memory away, or gives it back. */
function limitMemory(scene: Scene, limit: "1" | "0"): Promise<unknown> {
  return scene.withServer((client) => client.call("CONFIG", "SET", "maxmemory", limit));
}

for (const layout of LAYOUTS) {
  test(`${layout}: a server out of memory refuses publishes, takes acks, and goes on`, async () => {
    await play({ layout, port: redis().port, retryAfter: 600 }, async (scene) => {
      const seen = recorder();
      const app = scene.app({ concurrency: 1, onEvent: seen });
      const done: unknown[] = [];
      let begun = false;
      const goOn = Promise.withResolvers<void>();
      app.handle(URN, async ({ n }) => {
        begun = true;
        if (n === 0) await goOn.promise;
        done.push(n);
      });
      await app.publish(URN, { n: 0 });
      const run = app.run();
      await eventually(() => begun);
      await limitMemory(scene, "1");
      try {
        await assert.rejects(app.publish(URN, { n: 1 }, { timeoutMs: 5_000 }), (error: Error) => {
          assert.match(`${error.message} ${error.cause}`, /OOM|memory/);
          return true;
        });
        goOn.resolve();
        await eventually(async () => await scene.size() === 0);
        assert.deepEqual(seen.of("settleFailed"), []);
      } finally {
        await limitMemory(scene, "0");
      }
      await app.publish(URN, { n: 2 });
      await eventually(() => done.includes(2));
      await app.stop();
      await run;
      assert.deepEqual(done, [0, 2]);
      assert.equal(await scene.size(), 0);
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });

  test(`${layout}: messages that wait while memory is out are all handled afterwards`, async () => {
    await play({ layout, port: redis().port, retryAfter: 600 }, async (scene) => {
      await scene.publish(0, 100);
      await limitMemory(scene, "1");
      let worker: WorkerProcess;
      try {
        worker = await scene.worker({ concurrency: 4 });
        const waiting = worker;
        await waiting.until(() => waiting.saw(/event BabelQueue receiveFailed: .*OOM/));
      } finally {
        await limitMemory(scene, "0");
      }
      await scene.drained();
      assert.equal((await worker.stop()).code, 0);
      const { lost, duplicates } = await scene.outcome();
      assert.deepEqual({ lost, duplicates }, { lost: [], duplicates: [] });
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });

  test(
    `${layout}: a queue of the wrong type is reported, refused, and worked when it is gone`,
    async () => {
      await play({ layout, port: redis().port }, async (scene) => {
        const seen = recorder();
        const app = scene.app({ onEvent: seen });
        await scene.withServer((client) => client.call("SET", scene.key, "a string"));
        await assert.rejects(app.publish(URN, { n: 1 }, { timeoutMs: 5_000 }), (error: Error) => {
          assert.match(`${error.message} ${error.cause}`, /WRONGTYPE/);
          return true;
        });
        const done: unknown[] = [];
        app.handle(URN, ({ n }) => void done.push(n));
        const run = app.run();
        const failed = await seen.waitFor("receiveFailed");
        assert.match(failed.error.message, /WRONGTYPE/);
        assert.ok(failed.backOffMs > 0);
        await scene.withServer((client) => client.call("DEL", scene.key));
        await app.publish(URN, { n: 2 });
        await eventually(() => done.includes(2));
        await app.stop();
        await run;
        assert.deepEqual(done, [2]);
      });
    },
    { ignore, timeoutMs: TIMEOUT_MS },
  );

  test(
    `${layout}: a dead-letter queue of the wrong type keeps the message until it is gone`,
    async () => {
      await play({ layout, port: redis().port, retryAfter: 2 }, async (scene) => {
        const seen = recorder();
        const app = scene.app({ onEvent: seen, maxAttempts: 1, deadLetter: true });
        app.handle(URN, () => {
          throw new Error("asked to fail");
        });
        await scene.withServer((client) => client.call("SET", scene.deadKey, "a string"));
        await app.publish(URN, { n: 1 });
        const run = app.run();
        await seen.waitFor("writeFailed");
        assert.deepEqual(seen.of("deadLettered"), []);
        assert.notEqual(await scene.size(), 0);
        await scene.withServer((client) => client.call("DEL", scene.deadKey));
        await seen.waitFor("deadLettered");
        await eventually(async () => await scene.size() === 0);
        await app.stop();
        await run;
        assert.equal(await scene.withServer((client) => client.call("LLEN", scene.deadKey)), 1);
      });
    },
    { ignore, timeoutMs: TIMEOUT_MS },
  );
}

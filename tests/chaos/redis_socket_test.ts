/** Connections that are cut, at the worst moment, and servers that cannot be reached. */

import assert from "node:assert/strict";
import { PublishUncertainError } from "@bq/core";
import { absentRedis, brokerOfFile, type Proxy, startProxy, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { URN } from "./_plan.ts";
import { type Layout, LAYOUTS, play, type Scene } from "./_scene.ts";

const ignore = await absentRedis({ own: true });
const redis = brokerOfFile(ignore, () => startRedis({ own: true }));
const TIMEOUT_MS = 240_000;
/** A shutdown has this long, and the test waits far longer, so that it says nothing about speed. */
const SHUTDOWN_MS = 3_000;
const PATIENCE_MS = 60_000;

/** Plays a scene whose workers and publishers connect through a proxy. */
async function playThrough(
  layout: Layout,
  act: (scene: Scene, proxy: Proxy) => Promise<void>,
): Promise<void> {
  const { port } = redis();
  const proxy = await startProxy(port);
  try {
    const options = { layout, port, through: proxy.port, retryAfter: 2 };
    await play(options, (scene) => act(scene, proxy));
  } finally {
    await proxy.close();
  }
}

/** Picks requests that call a script which names this queue. */
function calls(scene: Scene): (bytes: Uint8Array) => boolean {
  return (bytes) => {
    const text = Buffer.from(bytes).toString("latin1");
    return /EVAL|RPUSH|ZADD/i.test(text) && text.includes(scene.queue);
  };
}

for (const layout of LAYOUTS) {
  test(
    `${layout}: a publish whose answer was cut off is uncertain, and there once`,
    async () => {
      await playThrough(layout, async (scene, proxy) => {
        const app = scene.app();
        // A first one, so that what is cut off is not the answer that a script is not known.
        await app.publish(URN, { n: 0 });
        const cut = proxy.cutAnswer({ request: calls(scene) });
        const outcome = await app.publish(URN, { n: 1 }, { timeoutMs: 15_000 }).then(
          () => "confirmed",
          (error) => {
            assert.ok(error instanceof PublishUncertainError, `${error}`);
            return "uncertain";
          },
        );
        await cut;
        // The server has done it; the publisher may not say that it failed, nor do it again.
        assert.equal(outcome, "uncertain");
        assert.equal(await scene.size(), 2);
        await app.publish(URN, { n: 2 });
        assert.equal(await scene.size(), 3);
      });
    },
    { ignore, timeoutMs: TIMEOUT_MS },
  );

  test(`${layout}: calls of a worker whose answers were cut off lose nothing`, async () => {
    await playThrough(layout, async (scene, proxy) => {
      const concurrency = 4;
      await scene.publish(0, 200);
      const worker = await scene.worker({ concurrency, handlerMs: 10 });
      const cuts = 6;
      for (let times = 1; times <= cuts; times++) {
        await eventually(() => worker.done.size >= 20 * times);
        await proxy.cutAnswer({ request: calls(scene) });
      }
      await scene.drained();
      assert.equal((await worker.stop()).code, 0);
      const { lost, duplicates, dead } = await scene.outcome();
      assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
      const allowed = cuts * 3 * concurrency;
      assert.ok(duplicates.length <= allowed, `${duplicates.length} of ${allowed} duplicates`);
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });

  test(`${layout}: a worker whose waiting connection was cut takes the next message`, async () => {
    await playThrough(layout, async (scene, proxy) => {
      const worker = await scene.worker();
      for (let n = 0; n < 5; n++) {
        await eventually(() => proxy.connections > 0);
        proxy.cut();
        await scene.publish(n, n + 1);
        await eventually(() => scene.doneTimes(n) > 0, { timeoutMs: PATIENCE_MS });
      }
      await scene.drained();
      assert.equal((await worker.stop()).code, 0);
      assert.deepEqual((await scene.outcome()).lost, []);
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });

  test(`${layout}: a worker goes on after its connections were stalled`, async () => {
    await playThrough(layout, async (scene, proxy) => {
      await scene.publish(0, 100);
      const worker = await scene.worker({ handlerMs: 10 });
      await eventually(() => worker.done.size >= 20);
      proxy.stall();
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      proxy.resume();
      await scene.drained();
      assert.equal((await worker.stop()).code, 0);
      assert.deepEqual((await scene.outcome()).lost, []);
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });

  for (const how of ["refuse", "stall"] as const) {
    for (const busy of [true, false]) {
      const what = busy ? "a worker in its handlers" : "an idle worker";
      test(
        `${layout}: ${what} stops by its deadline when the server is behind a ${how}`,
        async () => {
          await playThrough(layout, async (scene, proxy) => {
            if (busy) await scene.publish(0, 4);
            const plan = { hangFrom: 0, shutdownTimeoutMs: SHUTDOWN_MS };
            const worker = await scene.worker(plan);
            await eventually(() => worker.begun.size === (busy ? 4 : 0));
            proxy[how]();
            worker.askToStop();
            let ended = false;
            void worker.ended.then(() => ended = true);
            await eventually(() => ended, { timeoutMs: PATIENCE_MS });
            const { code, stderr } = await worker.ended;
            assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
            proxy.resume();
            const next = await scene.worker();
            await scene.drained();
            await next.stop();
            assert.deepEqual((await scene.outcome()).lost, []);
          });
        },
        { ignore, timeoutMs: TIMEOUT_MS },
      );
    }
  }

  test(`${layout}: close() ends by its deadline when the server is frozen`, async () => {
    await play({ layout, port: redis().port }, async (scene) => {
      const app = scene.app({ shutdownTimeoutMs: SHUTDOWN_MS });
      app.handle(URN, () => {});
      const run = app.run();
      await app.publish(URN, { n: 1 });
      await eventually(async () => await scene.size() === 0);
      await redis().pause();
      try {
        const closed = app.close().then(() => true);
        assert.equal(
          await eventually(() => Promise.race([closed, false]), { timeoutMs: PATIENCE_MS }),
          true,
        );
        await run;
      } finally {
        await redis().resume();
      }
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });
}

/** Connections that are cut, at the worst moment, and brokers that cannot be reached. */

import assert from "node:assert/strict";
import { BabelQueue, PublishUncertainError } from "@bq/core";
import { artemis } from "@bq/artemis";
import {
  absentArtemis,
  brokerOfFile,
  type Proxy,
  startArtemis,
  startProxy,
} from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { type ArtemisScene, playOnArtemis } from "./_artemis_scene.ts";
import { URN } from "./_plan.ts";

const ignore = await absentArtemis({ own: true });
const broker = brokerOfFile(ignore, () => startArtemis({ own: true }));
const TIMEOUT_MS = 240_000;
/** A shutdown has this long, and the test waits far longer, so that it says nothing about speed. */
const SHUTDOWN_MS = 3_000;
const PATIENCE_MS = 60_000;

/** Plays a scene whose workers and publishers connect through a proxy. */
async function playThrough(
  act: (scene: ArtemisScene, proxy: Proxy) => Promise<void>,
): Promise<void> {
  const proxy = await startProxy(broker().port);
  try {
    const options = { broker: broker(), through: proxy.port };
    await playOnArtemis(options, (scene) => act(scene, proxy));
  } finally {
    await proxy.close();
  }
}

/** Picks what carries a message. */
function transfers(bytes: Uint8Array): boolean {
  return Buffer.from(bytes).toString("latin1").includes(`"job":"${URN}"`);
}

test("artemis: a publish whose answer was cut off is uncertain, and there once", async () => {
  await playThrough(async (scene, proxy) => {
    const app = scene.app();
    await app.publish(URN, { n: 0 });
    const cut = proxy.cutAnswer({ request: transfers });
    await assert.rejects(
      app.publish(URN, { n: 1 }, { timeoutMs: 600_000 }),
      (error: unknown) => error instanceof PublishUncertainError,
    );
    await cut;
    // The broker has it; the publisher may not say that it failed, nor send it again.
    assert.equal(await scene.size(), 2);
    await app.publish(URN, { n: 2 });
    assert.equal(await scene.size(), 3);
  });
}, { ignore, timeoutMs: TIMEOUT_MS });

test("artemis: a worker whose connection was cut, over and over, loses nothing", async () => {
  await playThrough(async (scene, proxy) => {
    const concurrency = 4;
    await scene.publish(0, 200);
    const worker = await scene.worker({ concurrency, handlerMs: 10, maxAttempts: 100 });
    const cuts = 6;
    for (let times = 1; times <= cuts; times++) {
      await eventually(() => worker.done.size >= 20 * times);
      proxy.cut();
    }
    await scene.drained();
    assert.equal((await worker.stop()).code, 0);
    const { lost, duplicates, dead } = await scene.outcome();
    assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
    const allowed = cuts * 3 * concurrency;
    assert.ok(duplicates.length <= allowed, `${duplicates.length} of ${allowed} duplicates`);
  });
}, { ignore, timeoutMs: TIMEOUT_MS });

test("artemis: an idle worker whose connection was cut takes the next message", async () => {
  await playThrough(async (scene, proxy) => {
    const worker = await scene.worker();
    for (let n = 0; n < 5; n++) {
      await eventually(() => proxy.connections > 0);
      proxy.cut();
      await eventually(() => scene.publish(n, n + 1));
      await eventually(() => scene.doneTimes(n) > 0, { timeoutMs: PATIENCE_MS });
    }
    await scene.drained();
    assert.equal((await worker.stop()).code, 0);
    assert.deepEqual((await scene.outcome()).lost, []);
  });
}, { ignore, timeoutMs: TIMEOUT_MS });

test("artemis: a worker goes on after its connection was stalled", async () => {
  await playThrough(async (scene, proxy) => {
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
    test(`artemis: ${what} stops by its deadline when the broker is behind a ${how}`, async () => {
      await playThrough(async (scene, proxy) => {
        if (busy) await scene.publish(0, 4);
        const worker = await scene.worker({ hangFrom: 0, shutdownTimeoutMs: SHUTDOWN_MS });
        await eventually(() => worker.begun.size === (busy ? 4 : 0));
        proxy[how]();
        worker.askToStop();
        let ended = false;
        void worker.ended.then(() => ended = true);
        await eventually(() => ended, { timeoutMs: PATIENCE_MS });
        const { code, stderr } = await worker.ended;
        assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
        proxy.resume();
        proxy.cut();
        const next = await scene.worker();
        await scene.drained();
        await next.stop();
        assert.deepEqual((await scene.outcome()).lost, []);
      });
    }, { ignore, timeoutMs: TIMEOUT_MS });
  }
}

test(
  "artemis: a broker that falls silent counts as gone, and the worker connects anew",
  async () => {
    await playThrough(async (scene, proxy) => {
      const app = scene.app();
      const gone = Promise.withResolvers<void>();
      const worker = new BabelQueue(artemis({ url: scene.url, idleTimeoutMs: 1_000 }), {
        queue: scene.queue,
        onEvent: ({ type }) => type === "disconnected" && gone.resolve(),
      });
      const came: number[] = [];
      worker.handle(URN, ({ n }) => {
        came.push(Number(n));
      });
      const run = worker.run();
      await app.publish(URN, { n: 1 });
      await eventually(() => came.length === 1);
      proxy.stall();
      await gone.promise;
      proxy.resume();
      await eventually(() => app.publish(URN, { n: 2 }, { timeoutMs: 5_000 }));
      await eventually(() => came.includes(2));
      await worker.close();
      await run;
    });
  },
  { ignore, timeoutMs: TIMEOUT_MS },
);

/** Connections that are cut and stalled, and brokers that cannot be reached: nothing hangs. */

import assert from "node:assert/strict";
import { PublishUncertainError } from "@bq/core";
import type { Proxy } from "../brokers/mod.ts";
import { eventually } from "../harness.ts";
import type { BrokerScene } from "./_broker_scene.ts";
import { URN } from "./_plan.ts";
import { proxyTest, sceneTest, type Stage } from "./_stage.ts";

/** A shutdown has this long, and the test waits far longer, so that it says nothing about speed. */
const SHUTDOWN_MS = 3_000;
/** How long a test waits for what has to come by itself, in milliseconds. */
export const PATIENCE_MS = 60_000;
/** How long bytes are held, in milliseconds. */
const STALL_MS = 4_000;

/** How brokers are spoken of, since some have one connection and others several. */
export interface SocketWords {
  /** Whose connection is cut while it waits. */
  readonly cut: string;
  /** What is stalled. */
  readonly stalled: string;
  readonly broker: "broker" | "server";
}

/** Registers the tests of workers that lose their connections, or cannot use them. */
export function socketTests(stage: Stage, { cut, stalled, broker }: SocketWords): void {
  proxyTest(stage, `${cut} takes the next message`, cutWhileIdle);
  proxyTest(stage, `a worker goes on after ${stalled}`, stallAWhile);
  for (const how of ["refuse", "stall"] as const) {
    for (const busy of [true, false]) {
      const what = busy ? "a worker in its handlers" : "an idle worker";
      proxyTest(
        stage,
        `${what} stops by its deadline when the ${broker} is behind a ${how}`,
        (scene, proxy) => stopUnreached(scene, proxy, how, busy),
      );
    }
  }
}

async function cutWhileIdle(scene: BrokerScene, proxy: Proxy): Promise<void> {
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
}

async function stallAWhile(scene: BrokerScene, proxy: Proxy): Promise<void> {
  await scene.publish(0, 100);
  const worker = await scene.worker({ handlerMs: 10 });
  await eventually(() => worker.done.size >= 20);
  proxy.stall();
  await new Promise((resolve) => setTimeout(resolve, STALL_MS));
  proxy.resume();
  await scene.drained();
  assert.equal((await worker.stop()).code, 0);
  assert.deepEqual((await scene.outcome()).lost, []);
}

async function stopUnreached(
  scene: BrokerScene,
  proxy: Proxy,
  how: "refuse" | "stall",
  busy: boolean,
): Promise<void> {
  if (busy) await scene.publish(0, 4);
  const worker = await scene.worker({ hangFrom: 0, shutdownTimeoutMs: SHUTDOWN_MS });
  await eventually(() => worker.begun.size === (busy ? 4 : 0));
  proxy[how]();
  worker.askToStop();
  let ended = false;
  void worker.ended.then(() => ended = true);
  await eventually(() => ended, { timeoutMs: PATIENCE_MS });
  scene.assertInOrder(await worker.ended);
  proxy.resume();
  proxy.cut();
  const next = await scene.worker();
  await scene.drained();
  await next.stop();
  assert.deepEqual((await scene.outcome()).lost, []);
}

/**
 * Registers the test of a publish whose answer does not come.
 *
 * @param carries Picks what carries a message to the scene's queue, by its bytes as Latin-1.
 */
export function uncertainPublishTest<S extends BrokerScene>(
  stage: Stage<S>,
  carries: (text: string, scene: S) => boolean,
): void {
  proxyTest(
    stage,
    "a publish whose answer was cut off is uncertain, and there once",
    async (scene, proxy) => {
      const app = scene.app();
      // A first one, so that what is cut off is the answer to a message and to nothing before it.
      await app.publish(URN, { n: 0 });
      const cut = proxy.cutAnswer({ request: (bytes) => carries(latin1(bytes), scene) });
      await assert.rejects(
        app.publish(URN, { n: 1 }, { timeoutMs: 600_000 }),
        (error: unknown) => error instanceof PublishUncertainError,
      );
      await cut;
      // The broker has it; the publisher may not say that it failed, nor send it again.
      assert.equal(await scene.size(), 2);
      await app.publish(URN, { n: 2 });
      assert.equal(await scene.size(), 3);
    },
  );
}

/** Bytes as Latin-1 text. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** Cuts a worker's connections again and again: only what was in flight is handled once more. */
export async function cutOverAndOver(
  scene: BrokerScene,
  maxAttempts: number,
  cut: () => unknown,
): Promise<void> {
  const concurrency = 4;
  await scene.publish(0, 200);
  const worker = await scene.worker({ concurrency, handlerMs: 10, maxAttempts });
  const cuts = 6;
  for (let times = 1; times <= cuts; times++) {
    await eventually(() => worker.done.size >= 20 * times);
    await cut();
  }
  await scene.drained();
  assert.equal((await worker.stop()).code, 0);
  const { lost, duplicates, dead } = await scene.outcome();
  assert.deepEqual({ lost, dead }, { lost: [], dead: [] });
  const allowed = cuts * 3 * concurrency;
  assert.ok(duplicates.length <= allowed, `${duplicates.length} of ${allowed} duplicates`);
}

/** Registers the test of an App whose broker answers nothing any more. */
export function frozenCloseTest(stage: Stage, broker: "broker" | "server"): void {
  const title = `${stage.name}: close() ends by its deadline when the ${broker} is frozen`;
  sceneTest(stage, title, async (scene) => {
    const app = scene.app({ shutdownTimeoutMs: SHUTDOWN_MS });
    app.handle(URN, () => {});
    const run = app.run();
    await app.publish(URN, { n: 1 });
    await eventually(async () => await scene.size() === 0);
    await stage.broker().pause();
    try {
      const closed = app.close().then(() => true);
      const ended = (): Promise<boolean> => Promise.race([closed, false]);
      assert.equal(await eventually(ended, { timeoutMs: PATIENCE_MS }), true);
      await run;
    } finally {
      await stage.broker().resume();
    }
  });
}

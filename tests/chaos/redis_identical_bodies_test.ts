/** Two messages with the same bytes, as an outbox that publishes twice makes them. */

import assert from "node:assert/strict";
import { EnvelopeCodec } from "@bq/core";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { URN } from "./_plan.ts";
import { LAYOUTS, play, type Scene } from "./_scene.ts";

const ignore = await absentRedis();
const redis = brokerOfFile(ignore, () => startRedis());
const TIMEOUT_MS = 120_000;

/** Publishes the same bytes twice. */
async function publishTwice(scene: Scene, serial: number, delayMs: number = 0): Promise<void> {
  const made = EnvelopeCodec.make(URN, { n: serial }, { queue: scene.queue });
  const body = new TextEncoder().encode(EnvelopeCodec.encode(made));
  const app = scene.app();
  for (let times = 0; times < 2; times++) {
    await app.publishRaw(scene.queue, body, delayMs > 0 ? { delayMs } : {});
  }
  await app.close();
  scene.expect(serial);
}

for (const layout of LAYOUTS) {
  for (const order of ["first", "second"] as const) {
    test(
      `${layout}: equal bodies with two workers, the ${order} of them killed, are handled`,
      async () => {
        await play({ layout, port: redis().port, retryAfter: 2 }, async (scene) => {
          await publishTwice(scene, 1);
          const plan = { concurrency: 1, hangFrom: 0 };
          const first = await scene.worker(plan);
          await eventually(() => first.begun.size === 1);
          const second = await scene.worker(plan);
          await eventually(() => second.begun.size === 1);
          await (order === "first" ? first : second).kill();
          const third = await scene.worker({ concurrency: 1 });
          // Equal members of a sorted set are one message there; a list keeps both.
          await (order === "first" ? second : first).kill();
          await eventually(() => scene.doneTimes(1) >= (layout === "legacy" ? 2 : 1));
          await scene.drained();
          assert.equal((await third.stop()).code, 0);
          assert.deepEqual((await scene.outcome()).lost, []);
        });
      },
      { ignore, timeoutMs: TIMEOUT_MS },
    );
  }

  test(`${layout}: the ack of one of two equal messages never takes an unhandled one`, async () => {
    await play({ layout, port: redis().port, retryAfter: 2 }, async (scene) => {
      await publishTwice(scene, 1);
      const hanging = await scene.worker({ concurrency: 1, hangFrom: 0 });
      await eventually(() => hanging.begun.size === 1);
      const working = await scene.worker({ concurrency: 1 });
      await eventually(() => scene.doneTimes(1) >= 1);
      await hanging.kill();
      await scene.drained();
      assert.equal((await working.stop()).code, 0);
      assert.ok(scene.doneTimes(1) >= (layout === "legacy" ? 2 : 1));
    });
  }, { ignore, timeoutMs: TIMEOUT_MS });
}

test("zset: equal bodies that are delayed are one message, handled once", async () => {
  await play({ layout: "zset", port: redis().port }, async (scene) => {
    await publishTwice(scene, 1, 1_000);
    assert.equal(await scene.size(), 1);
    const worker = await scene.worker();
    await eventually(() => scene.doneTimes(1) === 1);
    await scene.drained();
    assert.equal((await worker.stop()).code, 0);
    assert.deepEqual(await scene.outcome(), { lost: [], duplicates: [], dead: [] });
  });
}, { ignore, timeoutMs: TIMEOUT_MS });

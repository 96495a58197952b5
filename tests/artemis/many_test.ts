/** Ten thousand messages, failing at random: none is lost, none ends twice, nothing stays unsettled. */

import assert from "node:assert/strict";
import { RetryAfterError } from "@bq/core";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { inLab, nativeText } from "./lab.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());
const COUNT = 10_000;

test(`of ${COUNT} messages with handlers that fail at random none is lost`, async () => {
  await inLab(broker().url, async (lab) => {
    const { bq } = lab.app({ deadLetter: true, maxAttempts: 3 });
    const publisher = lab.app().bq;
    const ended: Map<number, number> = new Map();
    const attempts: Map<number, number> = new Map();
    bq.handle(U, async ({ n }, ctx) => {
      const luck = Math.random();
      const before = attempts.get(Number(n)) ?? 0;
      assert.equal(ctx.attempt, before + 1, `the count of message ${n}`);
      attempts.set(Number(n), ctx.attempt);
      if (luck < 0.2) await Promise.resolve();
      if (luck < 0.3) throw new Error("fails");
      if (luck < 0.4) throw new RetryAfterError(1 + Math.floor(luck * 100));
      ended.set(Number(n), (ended.get(Number(n)) ?? 0) + 1);
    });
    const run = bq.run({ concurrency: 50 });
    for (let from = 0; from < COUNT; from += 1_000) {
      const items = Array.from(
        { length: 1_000 },
        (_, n) => ({ message: U, data: { n: from + n } }),
      );
      await publisher.publishMany(items);
    }
    const transport = await lab.transport();
    await eventually(async () => {
      assert.deepEqual(await transport.size(lab.queue), { ready: 0, delayed: 0, inFlight: 0 });
    }, { timeoutMs: 180_000 });
    await bq.close();
    await run;
    const { ready } = await transport.size(lab.dead);
    for (const record of await lab.peer.receive(lab.dead, ready)) {
      const { data: { n }, dead_letter } = JSON.parse(nativeText(record));
      assert.equal(dead_letter.attempts, 3);
      ended.set(n, (ended.get(n) ?? 0) + 1);
    }
    const numbers = Array.from({ length: COUNT }, (_, n) => n);
    assert.deepEqual(numbers.filter((n) => ended.get(n) !== 1), []);
    assert.ok(ready > 0, "some fail for good");
  });
}, { ignore, timeoutMs: 240_000 });

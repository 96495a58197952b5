/** Leases on both layouts, beside workers that know nothing of them. */

import assert from "node:assert/strict";
import { BabelQueue, systemClock } from "@bq/core";
import { recorder } from "@bq/core/testing";
import { redis } from "@bq/redis";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { B0, B1 } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { Lab, latin, text } from "./lab.ts";
import { StockWorker } from "./_stock_laravel.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const NOW = 1_760_000_000;

for (const layout of ["legacy", "zset"] as const) {
  const place = layout === "zset" ? "reserved" : "deadlines";

  test(`extend() moves the score forward, never back, ${layout}`, async () => {
    const lab = await Lab.open(broker().port, { layout });
    try {
      await lab.put({ ready: [B0] });
      const delivery = await lab.reserveOne();
      assert.equal(delivery.leaseUntilMs, (NOW + 90) * 1_000);
      const subscription = await lab.subscription();
      lab.now = NOW + 45.5;
      assert.equal(await subscription.extend!(delivery), (NOW + 135) * 1_000);
      assert.equal((await lab.look())[place][0]!.score, NOW + 135);
      lab.now = NOW - 3_600;
      assert.equal(await subscription.extend!(delivery), (NOW + 135) * 1_000);
      assert.equal((await lab.look())[place][0]!.score, NOW + 135);
    } finally {
      await lab.close();
    }
  }, { ignore });

  test(`extend() makes no reservation anew, ${layout}`, async () => {
    const lab = await Lab.open(broker().port, { layout });
    try {
      await lab.put({ ready: [B0] });
      const delivery = await lab.reserveOne();
      lab.now = NOW + 90;
      await lab.migrate();
      const before = await lab.look();
      assert.equal(await (await lab.subscription()).extend!(delivery), null);
      assert.deepEqual(await lab.look(), before);
      const settled = await (await lab.subscription()).settle(delivery, { kind: "ack" });
      assert.equal(settled, "expired");
      assert.deepEqual(await lab.look(), before);
    } finally {
      await lab.close();
    }
  }, { ignore });

  test(`a lease of a fraction of a second is a second, ${layout}`, async () => {
    const lab = await Lab.open(broker().port, { layout, retryAfterMs: 1_200 });
    try {
      await lab.put({ ready: [B0] });
      assert.equal((await lab.reserveOne()).leaseUntilMs, (NOW + 2) * 1_000);
    } finally {
      await lab.close();
    }
  }, { ignore });

  test(
    `what a closed subscription still held goes to the next worker at once, ${layout}`,
    async () => {
      const lab = await Lab.open(broker().port, { layout });
      try {
        await lab.put({ ready: [B0] });
        await lab.reserveOne();
        await (await lab.subscription()).close();
        const { ready, processing, delayed, reserved } = await lab.look();
        assert.deepEqual([processing, reserved], [[], []]);
        assert.deepEqual([...ready, ...delayed.map(({ member }) => member)], [B0]);
      } finally {
        await lab.close();
      }
    },
    { ignore },
  );

  test(`a worker without leases never takes back what it holds, ${layout}`, async () => {
    const lab = await Lab.open(broker().port, { layout, retryAfterMs: null });
    try {
      assert.equal(lab.transport.capabilities.leases, false);
      await lab.put({ ready: [B0] });
      const delivery = await lab.reserveOne();
      assert.equal(delivery.leaseUntilMs, undefined);
      assert.equal((await lab.look())[place][0]!.score, Infinity);
      lab.now = 99_999_999_999;
      assert.deepEqual(await lab.reserve(), []);
      assert.equal(await lab.transport.requeueUnexpiring(lab.queue), 1);
      assert.equal((await lab.look()).ready.length, 1);
    } finally {
      await lab.close();
    }
  }, { ignore });
}

test("a worker without leases recovers nobody's reservation on the zset layout", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset", retryAfterMs: null });
  try {
    await lab.put({ reserved: [{ member: B1, score: 1 }], delayed: [{ member: B0, score: 1 }] });
    assert.equal(text((await lab.reserveOne()).body), B0);
    assert.ok((await lab.look()).reserved.some(({ member }) => member === B1));
  } finally {
    await lab.close();
  }
}, { ignore });

test("a recovered message has its lost delivery counted", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    await lab.put({ ready: [B0] });
    await lab.reserveOne();
    lab.now = NOW + 89.999;
    assert.deepEqual(await lab.reserve(), []);
    lab.now = NOW + 90;
    assert.equal(text((await lab.reserveOne()).body), B1);
  } finally {
    await lab.close();
  }
}, { ignore });

test(
  "a handler longer than the reservation is not run twice beside a worker of Laravel",
  async () => {
    const lab = await Lab.open(broker().port, { layout: "zset" });
    const stock = new StockWorker(lab, -1);
    const seen = recorder();
    const bq = new BabelQueue(
      redis({ url: broker().url, layout: "zset", retryAfterMs: 3_000 }),
      { queue: lab.queue, deadLetter: true, onEvent: seen },
    );
    const stop = new AbortController();
    try {
      let calls = 0;
      bq.handle("urn:babel:shop:paid", async () => {
        calls++;
        await systemClock.sleep(7_000);
      });
      await bq.publishRaw(lab.queue, latin(B0));
      const run = bq.run({ signal: stop.signal });
      await eventually(() => calls === 1);
      while (seen.of("handled").length === 0) {
        lab.now = Date.now() / 1_000;
        assert.equal(await stock.pop(), null);
        await systemClock.sleep(200);
      }
      stop.abort();
      await run;
      assert.equal(calls, 1);
      assert.deepEqual((await lab.look()).reserved, []);
    } finally {
      stop.abort();
      await bq.close();
      await lab.close();
    }
  },
  { ignore },
);

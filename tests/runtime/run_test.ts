import assert from "node:assert/strict";
import type { RunOptions } from "@bq/core";
import { test } from "../harness.ts";
import { B0, bodies, bytes, ended, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

/** How many handlers were at work at a time, for each queue. */
class Meter {
  readonly now: Record<string, number> = {};
  readonly most: Record<string, number> = {};

  async during(queue: string, work: Promise<void>): Promise<void> {
    const count = this.now[queue] = (this.now[queue] ?? 0) + 1;
    this.most[queue] = Math.max(this.most[queue] ?? 0, count);
    await work;
    this.now[queue]!--;
  }
}

test("run() has as many handlers at work as each queue was given, and never more", async () => {
  const rows: readonly [options: RunOptions, most: Record<string, number>][] = [
    [{ queues: { shop: 3, video: 1 } }, { shop: 3, video: 1 }],
    [{ queues: { shop: 3, video: 1 }, concurrency: 9 }, { shop: 3, video: 1 }],
    [{ queues: ["shop", "video"], concurrency: 4 }, { shop: 4, video: 4 }],
    [{ queues: ["shop", "video"] }, { shop: 2, video: 2 }],
    [{ concurrency: 5 }, { shop: 5 }],
    [{}, { shop: 2 }],
  ];
  for (const [options, most] of rows) {
    await withApp({ concurrency: 2 }, async ({ bq, clock, transport }) => {
      const meter = new Meter();
      bq.handle(URN, (_, ctx) => meter.during(ctx.queue, clock.sleep(100)));
      for (const queue of Object.keys(most)) {
        for (let n = 0; n < 20; n++) await bq.publish(URN, {}, { queue });
      }
      const running = bq.run(options);
      await clock.advance(99);
      assert.deepEqual(meter.now, most, JSON.stringify(options));
      await clock.advance(100 * 20);
      assert.deepEqual(meter.most, most, JSON.stringify(options));
      for (const queue of Object.keys(most)) {
        assert.deepEqual(await transport.size(queue), { ready: 0, delayed: 0, inFlight: 0 });
      }
      await ended(Promise.all([bq.stop(), running]), clock);
    });
  }
});

test("run() asks for its free slots only, in no more receives at a time than there are lanes", async () => {
  for (const lanes of [1, 2, 3]) {
    let outstanding = 0;
    let most = 0;
    let asked = 0;
    const transport = new ScriptedTransport({}, { lanes });
    transport.script.receive = (_queue, max) => {
      outstanding++;
      asked += max;
      most = Math.max(most, outstanding);
      return transport.context!.clock.sleep(50).then(() => {
        outstanding--;
        asked -= max;
        return [];
      });
    };
    await withApp({ transport, concurrency: 7 }, async ({ bq, clock }) => {
      const running = bq.run();
      for (let n = 0; n < 20; n++) {
        await clock.advance(13);
        assert.equal(asked, 7);
      }
      assert.equal(most, lanes);
      await ended(Promise.all([bq.stop(), running]), clock);
    });
  }
});

test("a slot is free when the settle is issued: the next receive goes out in the same turn", async () => {
  const order: string[] = [];
  const transport = new ScriptedTransport();
  transport.script.settle = () => {
    order.push("settle");
    setTimeout(() => order.push("next turn"), 0);
    return Promise.resolve("settled");
  };
  transport.script.receive = () => {
    order.push("receive");
    return undefined;
  };
  await withApp({ transport }, async ({ bq, clock }) => {
    const handling = gate();
    bq.handle(URN, () => handling.opened);
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(0);
    order.length = 0;
    handling.open();
    await clock.advance(0);
    await clock.advance(0);
    assert.deepEqual(order, ["settle", "receive", "next turn"]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("intake pauses once as many settles are open as there are slots and prefetched messages", async () => {
  const settling = gate();
  const transport = new ScriptedTransport({
    settle: () => settling.opened.then(() => "settled"),
  });
  await withApp({ transport, concurrency: 2, prefetch: 3 }, async ({ bq, clock }) => {
    let handled = 0;
    bq.handle(URN, () => void handled++);
    const running = bq.run();
    await clock.advance(0);
    for (let n = 0; n < 20; n++) transport.put("shop");
    await clock.advance(0);
    assert.equal(bq.health().queues[0]!.settling, 5);
    assert.equal(handled, 5);
    settling.open();
    await clock.advance(1_000);
    assert.equal(handled, 20);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a queue is worked on once at a time; another run for another queue is legal", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock }) => {
    const refusal = {
      name: "BabelQueueError",
      code: "invalid_option",
      message: "Cannot work on 'shop': it is worked on already",
    };
    await assert.rejects(bq.run({ queues: ["shop", "video", "shop"] }), refusal);
    const first = bq.run({ queues: ["shop"] });
    await assert.rejects(bq.run({ queues: ["shop"] }), refusal);
    await assert.rejects(bq.run({ queues: { video: 1, shop: 1 } }), refusal);
    await assert.rejects(bq.consume({ queue: "shop" }), refusal);
    // All or none: video was not taken by the run that was refused.
    const second = bq.run({ queues: ["video"] });
    const counts = bq.consume({ queue: "mail", waitMs: 0 });
    await clock.advance(0);
    assert.deepEqual(bq.health().queues.map(({ queue }) => queue), ["shop", "video"]);
    assert.equal((await ended(counts, clock)).handled, 0);
    await ended(bq.stop(), clock);
    await Promise.all([first, second]);
    const again = bq.run({ queues: ["shop", "video"] });
    await clock.advance(0);
    assert.deepEqual(bq.health().queues.map(({ state }) => state), ["working", "working"]);
    await ended(Promise.all([bq.stop(), again]), clock);
  });
});

test("a queue that is its own dead-letter queue is refused, before anything begins", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, deadLetterQueue: "dead" }, async ({ bq }) => {
    const refusal = {
      code: "invalid_option",
      message: /^Cannot work on 'dead': it is its own dead-letter queue/,
    };
    await assert.rejects(bq.run({ queues: ["shop", "dead"] }), refusal);
    await assert.rejects(bq.consume({ queue: "dead" }), refusal);
    assert.deepEqual([transport.opens, transport.subscriptions.length], [0, 0]);
  });
  await withApp({ queue: "dead", deadLetterQueue: "dead" }, async ({ bq }) => {
    await assert.rejects(bq.run(), { code: "invalid_option" });
  });
});

test("a derived dead-letter queue may be worked on", async () => {
  await withApp({ deadLetter: true, maxAttempts: 1 }, async ({ bq, transport, clock }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    await ended(bq.consume({ queue: "shop.dlq", waitMs: 0 }), clock);
    assert.equal((await bodies(transport, "shop.dlq.dlq")).length, 1);
  });
});

test("run() with a signal that was aborted before takes nothing and resolves", async () => {
  await withApp({}, async ({ bq, transport, clock, seen }) => {
    let handled = 0;
    bq.handle(URN, () => void handled++);
    await bq.publishRaw("shop", bytes(B0));
    const signal = AbortSignal.abort();
    await ended(bq.run({ signal }), clock);
    await ended(bq.run({ forceSignal: signal }), clock);
    assert.deepEqual(await ended(bq.consume({ signal }), clock), {
      handled: 0,
      failed: 0,
      retried: 0,
      deadLettered: 0,
      dropped: 0,
    });
    assert.equal(clock.now(), NOW_MS);
    assert.equal(handled, 0);
    assert.deepEqual(await bodies(transport, "shop"), [B0]);
    assert.equal(seen.of("returned").length, 0);
  });
});

test("run() resolves when its signal is aborted and what is in flight is settled", async () => {
  await withApp({ concurrency: 2 }, async ({ bq, transport, clock }) => {
    const stop = new AbortController();
    const aborted: boolean[] = [];
    bq.handle(URN, async (_, ctx) => {
      await clock.sleep(5_000);
      aborted.push(ctx.signal.aborted);
    });
    for (let n = 0; n < 6; n++) await bq.publish(URN, {});
    let over = false;
    const running = bq.run({ signal: stop.signal }).then(() => over = true);
    await clock.advance(1_000);
    stop.abort();
    await clock.advance(3_999);
    assert.equal(over, false);
    await clock.advance(1);
    assert.equal(over, true);
    await running;
    assert.deepEqual(aborted, [false, false]);
    assert.deepEqual(await transport.size("shop"), { ready: 4, delayed: 0, inFlight: 0 });
  });
});

test("run() tells when it starts and stops, and on which queues", async () => {
  await withApp({}, async ({ bq, clock, seen }) => {
    const running = bq.run({ queues: ["shop", "video"] });
    await clock.advance(0);
    assert.deepEqual(seen.of("started").map(({ queues }) => queues), [["shop", "video"]]);
    assert.equal(seen.of("stopped").length, 0);
    await ended(Promise.all([bq.stop(), running]), clock);
    assert.deepEqual(seen.of("stopped").map(({ queues }) => queues), [["shop", "video"]]);
  });
});

test("thousands of messages that meet no handler are settled, however many come at once", async () => {
  const count = 20_000;
  const transport = new ScriptedTransport();
  await withApp({ transport, concurrency: count, deadLetter: true }, async ({ bq, clock }) => {
    await bq.connect();
    for (let n = 0; n < count; n++) transport.put("shop", "not json");
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(counts.deadLettered, count);
    assert.equal(new Set(transport.settled.map(({ delivery }) => delivery)).size, count);
  });
});

import assert from "node:assert/strict";
import { inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, bodies, ended, envelope, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

const NONE = { handled: 0, failed: 0, retried: 0, deadLettered: 0, dropped: 0 };

test("consume() counts what became of every delivery", async () => {
  await withApp({ deadLetter: true, onUnknownUrn: "dead_letter" }, async ({ bq, clock }) => {
    bq.handle(URN, ({ fails }, ctx) => {
      if (ctx.attempt <= Number(fails)) throw new Error("boom");
    });
    await inject(bq, "shop", envelope({ data: '{"fails":0}' }));
    await inject(bq, "shop", envelope({ data: '{"fails":1}' }));
    await inject(bq, "shop", envelope({ data: '{"fails":9}' }));
    await inject(bq, "shop", envelope({ job: '"urn:babel:unknown"' }));
    await inject(bq, "shop", "not json");
    assert.deepEqual(await ended(bq.consume({ waitMs: 0 }), clock), {
      handled: 2,
      failed: 4,
      retried: 3,
      deadLettered: 3,
      dropped: 0,
    });
    assert.deepEqual(await ended(bq.consume({ waitMs: 0 }), clock), NONE);
  });
});

test("consume() counts drops where nothing may be dead-lettered", async () => {
  await withApp({ onUnknownUrn: "delete", maxAttempts: 1 }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    for (const body of [B0, "not json", envelope({ job: '"urn:babel:unknown"' })]) {
      await inject(bq, "shop", body);
    }
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(counts, { ...NONE, failed: 1, dropped: 3 });
    assert.deepEqual(seen.of("dropped").map(({ reason }) => reason), [
      "failed",
      "poison",
      "unknown_urn",
    ]);
  });
});

test("consume() of an empty queue ends after its wait, at once with a wait of 0", async () => {
  await withApp({}, async ({ bq, clock }) => {
    assert.deepEqual(await bq.consume({ waitMs: 0 }), NONE);
    for (const [options, waitMs] of [[{ waitMs: 250 }, 250], [{}, 1_000]] as const) {
      let over = false;
      const consuming = bq.consume(options).then(() => over = true);
      await clock.advance(waitMs - 1);
      assert.equal(over, false);
      await clock.advance(1);
      assert.equal(over, true);
      await consuming;
    }
  });
});

test("consume() waits for each next message again, and ends when one wait brings none", async () => {
  await withApp({}, async ({ bq, clock }) => {
    bq.handle(URN, () => {});
    for (const delayMs of [80, 160, 261]) await bq.publish(URN, {}, { delayMs });
    const counts = await ended(bq.consume({ waitMs: 100 }), clock);
    assert.equal(counts.handled, 2);
  });
});

test("consume() takes exactly maxMessages, whatever the concurrency and the lanes", async () => {
  for (const [concurrency, lanes] of [[1, 1], [2, 1], [3, 2], [8, 3], [50, 1]] as const) {
    for (const maxMessages of [1, 3, 7, 20]) {
      const transport = new ScriptedTransport({}, { lanes });
      await withApp({ transport }, async ({ bq, clock }) => {
        await bq.connect();
        let most = 0;
        let now = 0;
        bq.handle(URN, async () => {
          most = Math.max(most, ++now);
          await clock.sleep(100);
          now--;
        });
        for (let n = 0; n < 20; n++) transport.put("shop");
        const working = bq.consume({ concurrency, maxMessages, waitMs: 1_000 });
        assert.deepEqual(await ended(working, clock), { ...NONE, handled: maxMessages });
        assert.equal(transport.settled.length, maxMessages);
        assert.ok(transport.verdicts.every((kind) => kind === "ack"));
        assert.equal(most, Math.min(concurrency, maxMessages));
      });
    }
  }
});

test("consume() with a maximum ends early on an empty queue", async () => {
  await withApp({}, async ({ bq, clock }) => {
    bq.handle(URN, () => {});
    for (let n = 0; n < 2; n++) await bq.publish(URN, {});
    const counts = await ended(bq.consume({ maxMessages: 5, concurrency: 4, waitMs: 0 }), clock);
    assert.equal(counts.handled, 2);
  });
});

test("every delivery counts towards maxMessages, a repeated one too", async () => {
  await withApp({}, async ({ bq, transport, clock }) => {
    const attempts: number[] = [];
    bq.handle(URN, (_, ctx) => {
      attempts.push(ctx.attempt);
      throw new Error("boom");
    });
    await inject(bq, "shop", B0);
    const counts = await ended(bq.consume({ maxMessages: 2, waitMs: 0 }), clock);
    assert.deepEqual(counts, { ...NONE, failed: 2, retried: 2 });
    assert.deepEqual(attempts, [1, 2]);
    assert.deepEqual(await bodies(transport, "shop"), [envelope({ attempts: "2" })]);
  });
});

test("consume() ends when its signal is aborted: what is in flight is finished, the rest stays", async () => {
  await withApp({ concurrency: 2 }, async ({ bq, transport, clock }) => {
    const working = gate();
    const stop = new AbortController();
    bq.handle(URN, () => working.opened);
    for (let n = 0; n < 5; n++) await bq.publish(URN, {});
    const consuming = bq.consume({ signal: stop.signal });
    await clock.advance(0);
    stop.abort();
    working.open();
    assert.equal((await ended(consuming, clock)).handled, 2);
    assert.deepEqual(await transport.size("shop"), { ready: 3, delayed: 0, inFlight: 0 });
  });
});

test("consume() works on the queue it is given", async () => {
  await withApp({}, async ({ bq, transport, clock }) => {
    const queues: string[] = [];
    bq.handle(URN, (_, ctx) => void queues.push(ctx.queue));
    await bq.publish(URN, {});
    await bq.publish(URN, {}, { queue: "video" });
    assert.equal((await ended(bq.consume({ queue: "video", waitMs: 0 }), clock)).handled, 1);
    assert.deepEqual(queues, ["video"]);
    assert.equal((await transport.size("shop")).ready, 1);
  });
});

test("the counts of one consume() are its own and do not change later", async () => {
  await withApp({}, async ({ bq, clock }) => {
    bq.handle(URN, () => {});
    await bq.publish(URN, {});
    const first = await ended(bq.consume({ waitMs: 0 }), clock);
    await bq.publish(URN, {});
    const second = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([first.handled, second.handled], [1, 1]);
  });
});

test("consume() does not wait for a message that is delayed beyond its wait", async () => {
  await withApp({}, async ({ bq, transport, clock }) => {
    bq.handle(URN, () => {});
    await bq.publish(URN, {}, { delayMs: 5_000 });
    assert.deepEqual(await ended(bq.consume(), clock), NONE);
    assert.equal(clock.now(), NOW_MS + 1_000);
    assert.equal((await transport.size("shop")).delayed, 1);
  });
});

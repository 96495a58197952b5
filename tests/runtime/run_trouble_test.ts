import assert from "node:assert/strict";
import { BabelQueueError, ConnectionError, type Delivery } from "@bq/core";
import { test } from "../harness.ts";
import { ended, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

const revoked = new ConnectionError("access revoked", { fatal: true });

test("a fatal receive rejects run(), and the other queue ends in order", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    const working = gate();
    const handled: string[] = [];
    bq.handle(URN, async (_, ctx) => {
      await working.opened;
      handled.push(ctx.queue);
    });
    const running = bq.run({ queues: ["shop", "video"] });
    const outcome = assert.rejects(running, (error) => error === revoked);
    await clock.advance(0);
    transport.put("video");
    await clock.advance(0);
    transport.script.receive = (queue) => queue === "shop" ? Promise.reject(revoked) : undefined;
    await clock.advance(1_000);
    assert.deepEqual([handled, transport.settled.length], [[], 0]);
    assert.deepEqual(bq.health().queues.map(({ state }) => state), ["stopping", "stopping"]);
    working.open();
    await ended(outcome, clock);
    assert.deepEqual([handled, transport.verdicts], [["video"], ["ack"]]);
    assert.deepEqual(transport.log.slice(2).sort(), ["unsubscribe shop", "unsubscribe video"]);
    assert.deepEqual(bq.health().queues, []);
    assert.equal(seen.of("receiveFailed").length, 0);
    assert.equal(seen.events.at(-1)?.type, "stopped");
  });
});

test("what a worker has in flight is settled before a fatal error rejects run()", async () => {
  const transport = new ScriptedTransport({}, { lanes: 2 });
  await withApp({ transport, concurrency: 2 }, async ({ bq, clock }) => {
    const working = gate();
    bq.handle(URN, () => working.opened);
    const outcome = assert.rejects(bq.run(), (error) => error === revoked);
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(0);
    transport.script.receive = () => Promise.reject(revoked);
    await clock.advance(1_500);
    assert.equal(transport.settled.length, 0);
    working.open();
    await ended(outcome, clock);
    assert.deepEqual(transport.verdicts, ["ack"]);
  });
});

test("a fatal error on connecting or subscribing rejects run() and consume()", async () => {
  for (const where of ["open", "subscribe"] as const) {
    const transport = new ScriptedTransport({ [where]: () => Promise.reject(revoked) });
    await withApp({ transport }, async ({ bq, clock }) => {
      await assert.rejects(ended(bq.run(), clock), (error) => error === revoked);
      await assert.rejects(ended(bq.consume(), clock), (error) => error === revoked);
      assert.equal(clock.now(), NOW_MS);
      assert.equal(bq.health().state, "idle");
    });
  }
});

test("a transport that is closed under the worker ends the run", async () => {
  const gone = new BabelQueueError("closed", "Cannot receive: the subscription is closed");
  const transport = new ScriptedTransport({ receive: () => Promise.reject(gone) });
  await withApp({ transport }, async ({ bq, clock }) => {
    await assert.rejects(ended(bq.run(), clock), (error) => error === gone);
  });
});

test("receives that fail are told, waited for twice as long each time, and gone on after", async () => {
  const failures: readonly unknown[] = [
    new ConnectionError("reset by peer"),
    new Error("protocol error"),
    "just a text",
    undefined,
  ];
  const at: number[] = [];
  const transport = new ScriptedTransport();
  transport.script.receive = () => {
    at.push(transport.context!.clock.now() - NOW_MS);
    return at.length <= failures.length ? Promise.reject(failures[at.length - 1]) : undefined;
  };
  await withApp({ transport, random: () => 0 }, async ({ bq, clock, seen }) => {
    let handled = 0;
    bq.handle(URN, () => void handled++);
    const running = bq.run();
    await clock.advance(1_500);
    assert.deepEqual(at, [0, 100, 300, 700, 1_500]);
    assert.deepEqual(
      seen.of("receiveFailed").map(({ queue, error, backOffMs }) => [
        queue,
        error.message,
        backOffMs,
      ]),
      [
        ["shop", "reset by peer", 100],
        ["shop", "protocol error", 200],
        ["shop", "just a text", 400],
        ["shop", "undefined", 800],
      ],
    );
    transport.put("shop");
    await clock.advance(0);
    assert.equal(handled, 1);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("the wait after a failure begins at 100 ms again once a receive has answered", async () => {
  let fails = true;
  const transport = new ScriptedTransport();
  transport.script.receive = () => {
    fails = !fails;
    return fails ? undefined : Promise.reject(new Error("flapping"));
  };
  await withApp({ transport, random: () => 0 }, async ({ bq, clock, seen }) => {
    const running = bq.run();
    await clock.advance(10_000);
    const waits = seen.of("receiveFailed").map(({ backOffMs }) => backOffMs);
    assert.ok(waits.length > 5);
    assert.ok(waits.every((wait) => wait === 100), String(waits));
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("the wait after a failure never grows beyond 30 s", async () => {
  const transport = new ScriptedTransport({ receive: () => Promise.reject(new Error("down")) });
  await withApp({ transport, random: () => 0 }, async ({ bq, clock, seen }) => {
    const running = bq.run();
    await clock.advance(300_000);
    const waits = seen.of("receiveFailed").map(({ backOffMs }) => backOffMs);
    assert.deepEqual(waits.slice(-3), [30_000, 30_000, 30_000]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a receive that throws before it gives a promise is a failed receive", async () => {
  const transport = new ScriptedTransport();
  transport.script.receive = () => {
    delete transport.script.receive;
    throw new Error("not even a promise");
  };
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    const running = bq.run();
    await clock.advance(100);
    assert.equal(seen.of("receiveFailed")[0]?.error.message, "not even a promise");
    assert.equal(transport.receives.length, 2);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a subscribe that fails is told and tried again", async () => {
  let tries = 0;
  const transport = new ScriptedTransport({
    subscribe: () => ++tries < 4 ? Promise.reject(new Error("no such queue yet")) : undefined,
  });
  await withApp({ transport, random: () => 0 }, async ({ bq, clock, seen }) => {
    const running = bq.run();
    await clock.advance(699);
    assert.deepEqual([tries, transport.receives.length], [3, 0]);
    await clock.advance(1);
    assert.deepEqual([tries, transport.receives.length], [4, 1]);
    assert.deepEqual(seen.of("receiveFailed").map(({ backOffMs }) => backOffMs), [100, 200, 400]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a subscribe without an answer is given up after 30 s, and what it brings later is closed", async () => {
  const answering = gate();
  const transport = new ScriptedTransport();
  let tries = 0;
  transport.script.subscribe = () => ++tries === 1 ? answering.opened : undefined;
  await withApp({ transport, random: () => 0 }, async ({ bq, clock, seen }) => {
    const running = bq.run();
    await clock.advance(29_999);
    assert.deepEqual([tries, seen.of("receiveFailed").length], [1, 0]);
    await clock.advance(1);
    assert.match(seen.of("receiveFailed")[0]!.error.message, /'shop': no answer in time$/);
    await clock.advance(100);
    assert.deepEqual([tries, bq.health().queues[0]?.state], [2, "working"]);
    assert.equal(transport.log.includes("unsubscribe shop"), false);
    answering.open();
    await clock.advance(0);
    assert.deepEqual(transport.log, ["subscribe shop", "subscribe shop", "unsubscribe shop"]);
    await ended(Promise.all([bq.stop(), running]), clock);
    assert.equal(transport.receives.length > 0, true);
  });
});

test("consume() waits a second at most for a subscription that does not end", async () => {
  const transport = new ScriptedTransport({ endSubscription: () => never() });
  await withApp({ transport }, async ({ bq, clock }) => {
    let over = false;
    const consuming = bq.consume({ waitMs: 0 }).then(() => over = true);
    await clock.advance(999);
    assert.equal(over, false);
    await clock.advance(1);
    assert.equal(over, true);
    await consuming;
  });
});

test("a receive that never answers loses its lane 30 s past its wait, and its late messages are handled", async () => {
  const answering = gate();
  const transport = new ScriptedTransport();
  let late: Delivery | undefined;
  transport.script.receive = () => {
    delete transport.script.receive;
    return answering.opened.then(() => [late!]);
  };
  await withApp({ transport, pollTimeoutMs: 500 }, async ({ bq, clock, seen }) => {
    const handled: string[] = [];
    bq.handle(URN, (_, ctx) => void handled.push(ctx.messageId));
    const running = bq.run();
    await clock.advance(30_499);
    assert.equal(transport.receives.length, 1);
    await clock.advance(1);
    assert.match(seen.of("receiveFailed")[0]!.error.message, /no answer in time$/);
    await clock.advance(100);
    assert.equal(transport.receives.length, 2);
    late = transport.put("elsewhere");
    answering.open();
    await clock.advance(0);
    assert.equal(handled.length, 1);
    assert.deepEqual(transport.settled.map(({ delivery }) => delivery === late), [true]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("what a hung receive brings after the end goes straight back", async () => {
  const answering = gate();
  const transport = new ScriptedTransport();
  transport.script.receive = () => answering.opened.then(() => [transport.put("elsewhere")]);
  await withApp({ transport, shutdownTimeoutMs: 2_000 }, async ({ bq, clock, seen }) => {
    let handled = 0;
    bq.handle(URN, () => void handled++);
    const running = bq.run();
    await clock.advance(0);
    await ended(Promise.all([bq.stop(), running]), clock);
    assert.equal(clock.now(), NOW_MS + 2_000);
    assert.deepEqual(seen.of("shutdownTimedOut").map(({ unfinished }) => unfinished), [0]);
    answering.open();
    await clock.advance(0);
    assert.deepEqual([handled, transport.verdicts], [0, ["return"]]);
  });
});

test("what a hung receive brings after the end is left alone when its lease is over", async () => {
  const answering = gate();
  const transport = new ScriptedTransport();
  await withApp({ transport, shutdownTimeoutMs: 2_000 }, async ({ bq, clock, seen }) => {
    await bq.connect();
    const stale = transport.put("elsewhere", undefined, { leaseUntilMs: NOW_MS + 1_000 });
    transport.script.receive = () => answering.opened.then(() => [stale]);
    const running = bq.run();
    await clock.advance(0);
    await ended(Promise.all([bq.stop(), running]), clock);
    answering.open();
    await clock.advance(0);
    assert.deepEqual(transport.settled, []);
    assert.equal(seen.of("leaseLost").length, 1);
  });
});

test("a delivery that is handed out twice is worked on once", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, concurrency: 2 }, async ({ bq, clock, seen }) => {
    const working = gate();
    let handled = 0;
    bq.handle(URN, () => {
      handled++;
      return working.opened;
    });
    const running = bq.run();
    await clock.advance(0);
    transport.hand(transport.put("shop"));
    await clock.advance(0);
    working.open();
    await clock.advance(0);
    assert.deepEqual([handled, transport.verdicts], [1, ["ack"]]);
    assert.equal(seen.of("warning").filter(({ code }) => code === "transport").length, 1);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("one bad message never stops the loop: every kind of trouble in a row", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, maxAttempts: 1, handlerTimeoutMs: 50 }, async ({ bq, clock }) => {
    const handled: unknown[] = [];
    const deeds: Record<string, () => unknown> = {
      throws: () => {
        throw new Error("boom");
      },
      rejects: () => Promise.reject(undefined),
      hangs: () => never(),
      fine: () => handled.push("fine"),
    };
    for (const [name, deed] of Object.entries(deeds)) bq.handle(name, () => deed());
    const running = bq.run();
    await clock.advance(0);
    let settles = 0;
    transport.script.settle = () => {
      settles++;
      return settles % 2 === 0 ? Promise.reject(new Error("settle failed")) : undefined;
    };
    for (const name of ["throws", "unknown", "fine", "rejects", "hangs", "constructor", "fine"]) {
      transport.put("shop", `{"job":"${name}"}`);
      transport.put("shop", "not json");
    }
    await clock.advance(60_000);
    assert.equal(handled.length, 2);
    assert.equal(settles, 14);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

import assert from "node:assert/strict";
import { BabelQueue, type BabelQueueEvent, describeEvent, memory } from "@bq/core";
import { fakeClock, inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, ended, NOW_MS, URN, warned, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

/** Everything an iterator gives until it ends. */
async function read(events: AsyncIterable<BabelQueueEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of events) types.push(type);
  return types;
}

test("the events of a message come in the order of what happens, each with its level", async () => {
  await withApp({ maxAttempts: 2, deadLetter: true }, async ({ bq, clock, seen }) => {
    bq.handle(URN, (_, ctx) => {
      if (ctx.attempt > 0) throw new Error("boom");
    });
    await inject(bq, "shop", B0);
    await ended(bq.consume({ waitMs: 0 }), clock);
    await bq.close();
    assert.deepEqual(seen.events.map(({ type, level }) => `${level} ${type}`), [
      "info connected",
      "info started",
      "warn failed",
      "info retried",
      "warn failed",
      "warn deadLettered",
      "info stopped",
    ]);
    const subject = { queue: "shop", urn: URN, messageId: "6f1c2a3e-0000-4000-8000-000000000001" };
    const [first, second] = seen.of("failed");
    assert.deepEqual({ ...first, error: null }, {
      level: "warn",
      type: "failed",
      error: null,
      durationMs: 0,
      ...subject,
      attempt: 1,
    });
    assert.equal(second?.attempt, 2);
  });
});

test("a handled message is told with the time it took", async () => {
  await withApp({}, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => clock.sleep(250));
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen.of("handled").map(({ durationMs, attempt }) => [durationMs, attempt]), [
      [250, 1],
    ]);
  });
});

test("an iterator gives the events from its start on, and ends when the App is closed", async () => {
  await withApp({}, async ({ bq, seen }) => {
    await bq.connect();
    const late = bq.events();
    const other = bq.events();
    bq.handle(URN, () => {});
    await bq.publish(URN, {});
    await bq.consume({ waitMs: 0 });
    const reading = Promise.all([read(late), read(other)]);
    await bq.close();
    const types = ["started", "handled", "stopped"];
    assert.deepEqual(await reading, [types, types]);
    assert.deepEqual(seen.events.map(({ type }) => type), ["connected", ...types]);
    assert.deepEqual(await late.next(), { done: true, value: undefined });
  });
});

test("an iterator that waits when the App is closed ends, and so does one that begins later", async () => {
  await withApp({}, async ({ bq }) => {
    const events = bq.events();
    const waiting = [events.next(), events.next()];
    await bq.close();
    for (const result of await Promise.all(waiting)) assert.equal(result.done, true);
    assert.deepEqual(await read(bq.events()), []);
  });
});

test("each waiting reader of an iterator gets one event, in order", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    const events = bq.events();
    const waiting = [events.next(), events.next()];
    await bq.connect();
    transport.context!.emit({ type: "disconnected" });
    const types = (await Promise.all(waiting)).map(({ value }) => value.type);
    assert.deepEqual(types, ["connected", "disconnected"]);
  });
});

test("an iterator that is left ends, and forgets what it kept", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    const events = bq.events();
    await bq.connect();
    transport.context!.emit({ type: "disconnected" });
    for await (const _ of events) break;
    assert.deepEqual(await events.next(), { done: true, value: undefined });
    transport.context!.emit({ type: "connected" });
    assert.deepEqual(await events.next(), { done: true, value: undefined });
    assert.deepEqual(await events.return?.(), { done: true, value: undefined });
  });
});

test("an iterator that nobody reads keeps the last 10,000 events", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    await bq.connect();
    const events = bq.events();
    for (let n = 0; n < 12_345; n++) {
      transport.context!.emit({ type: "warning", code: "n", message: String(n) });
    }
    const kept: string[] = [];
    const reading = (async () => {
      for await (const event of events) {
        if (event.type === "warning") kept.push(event.message);
      }
    })();
    await bq.close();
    await reading;
    assert.equal(kept.length, 10_000);
    assert.deepEqual([kept[0], kept.at(-1)], ["n: 2345", "n: 12344"]);
  });
});

/** One life with a retry, a drop and a warning; gives the lines on the console. */
async function life(
  options: { readonly onEvent?: (event: BabelQueueEvent) => void },
  during: (bq: BabelQueue) => void = () => {},
): Promise<string[]> {
  return await warned(async () => {
    const clock = fakeClock(NOW_MS);
    const bq = new BabelQueue(memory(), { queue: "shop", clock, maxAttempts: 2, ...options });
    during(bq);
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    await inject(bq, "shop", B0);
    const running = bq.run();
    await clock.advance(0);
    await ended(Promise.all([bq.close(), running]), clock);
  });
}

test("while nobody listens warnings and errors go to the console, and nothing else", async () => {
  const subject = `queue=shop urn=${URN} messageId=6f1c2a3e-0000-4000-8000-000000000001`;
  const lines = await life({});
  assert.deepEqual(lines.map((line) => line.split("\n")[0]), [
    "BabelQueue warning: code=dead_letter_not_set message=deadLetter is not set: messages that " +
    "fail for good are dropped",
    `BabelQueue failed: error=Error: boom durationMs=0 ${subject} attempt=1`,
    `BabelQueue failed: error=Error: boom durationMs=0 ${subject} attempt=2`,
    `BabelQueue dropped: reason=failed ${subject} attempt=2`,
  ]);
});

test("on the console what a handler threw comes with its stack, and nothing else has one", async () => {
  const lines = await life({});
  const stacks = lines.map((line) => line.split("\n").slice(1).join("\n"));
  assert.deepEqual(stacks.map((stack) => stack.includes("events_test")), [
    false,
    true,
    true,
    false,
  ]);
  assert.deepEqual([stacks[0], stacks[3]], ["", ""]);
});

test("with a listener nothing goes to the console", async () => {
  const types: string[] = [];
  assert.deepEqual(await life({ onEvent: ({ type }) => types.push(type) }), []);
  assert.ok(types.includes("dropped"));
  let reading: Promise<string[]> | undefined;
  assert.deepEqual(await life({}, (bq) => reading = read(bq.events())), []);
  assert.ok((await reading)!.includes("dropped"));
  const both: string[] = [];
  const options = { onEvent: ({ type }: BabelQueueEvent) => both.push(type) };
  assert.deepEqual(await life(options, (bq) => reading = read(bq.events())), []);
  assert.deepEqual(both, await reading);
});

test("once the last reader has left, warnings go to the console again", async () => {
  const transport = new ScriptedTransport();
  const lines = await warned(async () => {
    const bq = new BabelQueue(transport);
    await bq.connect();
    const events = bq.events();
    transport.context!.emit({ type: "warning", code: "a", message: "told the reader" });
    await events.return?.();
    transport.context!.emit({ type: "warning", code: "b", message: "told the console" });
    await bq.close();
  });
  assert.deepEqual(lines, ["BabelQueue warning: code=transport message=b: told the console"]);
});

test("a callback that throws stops nothing, and is told once", async () => {
  for (
    const fail of [
      () => {
        throw new Error("broken listener");
      },
      () => Promise.reject(new Error("broken listener")),
    ]
  ) {
    let calls = 0;
    let reading: Promise<string[]> | undefined;
    const onEvent = (): void => {
      calls++;
      return fail() as unknown as void;
    };
    const lines = await life({ onEvent }, (bq) => reading = read(bq.events()));
    assert.deepEqual(lines, ["BabelQueue: the onEvent callback threw Error: broken listener"]);
    assert.equal(calls, (await reading)!.length);
    assert.ok((await reading)!.includes("dropped"));
  }
});

test("a callback may stop the App, publish, and look at its health", async () => {
  const clock = fakeClock();
  const done: Promise<unknown>[] = [];
  const bq: BabelQueue = new BabelQueue(memory(), {
    clock,
    deadLetter: true,
    onEvent: ({ type }) => {
      bq.health();
      if (type === "handled") done.push(bq.publish("urn:babel:told", {}), bq.close());
    },
  });
  bq.handle(URN, () => {});
  await bq.publish(URN, {});
  const running = bq.run();
  await ended(running, clock);
  assert.equal(done.length, 2);
  await Promise.all(done);
});

test("describeEvent() gives one line, without what is empty", () => {
  const rows: readonly [event: BabelQueueEvent, line: string][] = [
    [{ level: "info", type: "connected" }, "BabelQueue connected"],
    [{ level: "warn", type: "disconnected" }, "BabelQueue disconnected"],
    [
      { level: "warn", type: "disconnected", error: new TypeError("reset") },
      "BabelQueue disconnected: error=TypeError: reset",
    ],
    [
      { level: "info", type: "started", queues: ["shop", "video"] },
      'BabelQueue started: queues=["shop","video"]',
    ],
    [
      {
        level: "warn",
        type: "poison",
        cause: "not JSON",
        queue: "shop",
        urn: "",
        messageId: "",
        attempt: 1,
      },
      "BabelQueue poison: cause=not JSON queue=shop attempt=1",
    ],
    [
      {
        level: "warn",
        type: "warning",
        code: "delay_cut",
        message: "cut",
        subject: { queue: "q", urn: "u", messageId: "m", attempt: 2 },
      },
      'BabelQueue warning: code=delay_cut message=cut subject={"queue":"q","urn":"u","messageId":"m","attempt":2}',
    ],
    [
      { level: "error", type: "shutdownTimedOut", unfinished: 0 },
      "BabelQueue shutdownTimedOut: unfinished=0",
    ],
  ];
  for (const [event, line] of rows) assert.equal(describeEvent(event), line);
});

import assert from "node:assert/strict";
import { BabelQueue, memory } from "@bq/core";
import { test } from "../harness.ts";
import { URN } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

/** More rounds than one turn of the event loop can take, however fast. */
const ENDLESS = 500_000;

/** Whether a timer runs while something goes round and round without ever waiting. */
async function letsTimersRun(round: () => Promise<unknown>): Promise<boolean> {
  let ran = false;
  const timer = setTimeout(() => ran = true, 20);
  const start = performance.now();
  // A look at the time ends what would go on for ever.
  while (!ran && performance.now() - start < 5_000) await round();
  clearTimeout(timer);
  return ran;
}

test("whoever publishes, counts, looks or consumes in a loop on memory lets timers run", async () => {
  const bq = new BabelQueue(memory(), { deadLetter: true, onEvent: () => {} });
  bq.handle(URN, () => {});
  const rounds: Record<string, () => Promise<unknown>> = {
    publish: () => bq.publish(URN, {}, { queue: "elsewhere" }),
    publishMany: () => bq.publishMany([{ message: URN, data: {}, queue: "elsewhere" }]),
    publishRaw: () => bq.publishRaw("elsewhere", new Uint8Array([1])),
    size: () => bq.size(),
    peek: () => Array.fromAsync(bq.peek()),
    consume: () => bq.consume({ waitMs: 0 }),
  };
  for (const [name, round] of Object.entries(rounds)) {
    assert.equal(await letsTimersRun(round), true, name);
  }
  await bq.close();
});

test("a handler that publishes in a loop on memory is told of its time-out", async () => {
  const bq = new BabelQueue(memory(), {
    deadLetter: true,
    maxAttempts: 1,
    handlerTimeoutMs: 100,
    onEvent: () => {},
  });
  let told = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  bq.handle(URN, async (_, ctx) => {
    const start = performance.now();
    while (!ctx.signal.aborted && performance.now() - start < 5_000) {
      await ctx.publish(URN, {}, { queue: "elsewhere" });
    }
    told = ctx.signal.aborted;
    resolve();
  });
  await bq.publish(URN, {});
  await bq.consume({ waitMs: 0 });
  await promise;
  assert.equal(told, true);
  await bq.close();
});

for (const brings of ["nothing", "a message"] as const) {
  test(`a transport that brings ${brings} at once, for ever, lets timers run`, async () => {
    let receives = 0;
    const transport = new ScriptedTransport();
    const { body } = transport.put("shop");
    const delivery = () => ({ queue: "shop", body, headers: {}, counting: {} });
    transport.script.receive = () => {
      if (++receives > ENDLESS) throw new Error("no timer ever ran");
      return Promise.resolve(brings === "nothing" ? [] : [delivery()]);
    };
    const bq = new BabelQueue(transport, { queue: "shop", deadLetter: true, onEvent: () => {} });
    bq.handle(URN, () => {});
    const running = bq.run();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await bq.stop();
    await running;
    await bq.close();
    assert.ok(receives < ENDLESS);
    // A round that brings nothing takes 10 ms at least, but for the first few.
    if (brings === "nothing") assert.ok(receives < 1_000, `${receives}`);
  });
}

test("short rounds that bring nothing are paced, one that brings a message ends that", async () => {
  const transport = new ScriptedTransport();
  const { body } = transport.put("shop");
  let receives = 0;
  transport.script.receive = () => {
    const brings = ++receives % 5 === 0;
    return Promise.resolve(
      brings ? [{ queue: "shop", body, headers: {}, counting: {} }] : [],
    );
  };
  let slept = 0;
  const clock = {
    now: () => 0,
    elapsed: () => 0,
    sleep: (ms: number, signal?: AbortSignal) => {
      if (ms > 0 && ms <= 10) slept++;
      return new Promise<void>((resolve) => {
        if (ms > 10) signal?.addEventListener("abort", () => resolve(), { once: true });
        else setTimeout(resolve, 0);
      });
    },
  };
  const bq = new BabelQueue(transport, {
    queue: "shop",
    deadLetter: true,
    clock,
    onEvent: () => {},
  });
  let handled = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  bq.handle(URN, () => {
    if (++handled === 4) resolve();
  });
  const running = bq.run();
  await promise;
  // Of four short rounds before each message the first three cost nothing.
  assert.equal(slept, 4);
  assert.equal(receives, 20);
  await bq.close();
  await running;
});

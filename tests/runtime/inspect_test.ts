import assert from "node:assert/strict";
import { ConnectionError } from "@bq/core";
import { test } from "../harness.ts";
import { ended, NOW_MS, text, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

test("peek() and size() connect by themselves, and remove nothing", async () => {
  await withApp({}, async ({ bq }) => {
    assert.deepEqual(await bq.size("shop"), { ready: 0, delayed: 0, inFlight: 0 });
    assert.equal(bq.health().connected, true);
  });
  await withApp({}, async ({ bq }) => {
    assert.deepEqual(await Array.fromAsync(bq.peek("shop")), []);
    assert.equal(bq.health().connected, true);
    await bq.publish(URN, { n: 1 });
    await bq.publish(URN, { n: 2 }, { delayMs: 1_000 });
    const seen = await Array.fromAsync(bq.peek("shop"));
    assert.deepEqual(seen.map(({ state }) => state), ["ready", "delayed"]);
    assert.match(text(seen[0]!.body), /"n":1/);
    assert.equal((await Array.fromAsync(bq.peek("shop", { max: 1 }))).length, 1);
    assert.deepEqual(await bq.size("shop"), { ready: 1, delayed: 1, inFlight: 0 });
  });
});

test("peek() and size() look at the App's queue unless another one is named", async () => {
  await withApp({ queue: "home" }, async ({ bq }) => {
    await bq.publish(URN, {});
    await bq.publish(URN, {}, { queue: "shop" });
    await bq.publish(URN, {}, { queue: "shop" });
    assert.deepEqual([(await bq.size()).ready, (await bq.size("shop")).ready], [1, 2]);
    const counted = [bq.peek(), bq.peek("shop")].map((seen) => Array.fromAsync(seen));
    assert.deepEqual((await Promise.all(counted)).map(({ length }) => length), [1, 2]);
  });
});

test("peek() and size() refuse what they cannot do, with the reason", async () => {
  const wrong = new ConnectionError("wrong password", { fatal: true });
  const unable = new ScriptedTransport();
  await withApp({ transport: unable }, async ({ bq }) => {
    await assert.rejects(bq.size("shop"), { code: "unsupported", message: /'shop'.*'scripted'/ });
    await assert.rejects(Array.fromAsync(bq.peek("shop")), { code: "unsupported" });
    assert.equal(unable.opens, 0);
  });
  await withApp({}, async ({ bq, transport, clock }) => {
    await assert.rejects(bq.size(""), { code: "invalid_option" });
    await assert.rejects(Array.fromAsync(bq.peek("")), { code: "invalid_option" });
    for (const max of [0, 1.5, -1]) {
      await assert.rejects(Array.fromAsync(bq.peek("shop", { max })), { code: "invalid_option" });
    }
    transport.open = () => Promise.reject(wrong);
    await assert.rejects(bq.size("shop"), (error) => error === wrong);
    await assert.rejects(Array.fromAsync(bq.peek("shop")), (error) => error === wrong);
    assert.equal(clock.now(), NOW_MS);
    await bq.close();
    await assert.rejects(bq.size("shop"), { code: "closed" });
    await assert.rejects(Array.fromAsync(bq.peek("shop")), { code: "closed" });
  });
});

/** A transport whose answers about queues never come. */
function silent(): ScriptedTransport {
  const transport = new ScriptedTransport();
  return Object.assign(transport, {
    size: () => never(),
    peek: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => never(), return: () => never() }),
    }),
  });
}

test("peek() and size() end after 30 s without an answer", async () => {
  await withApp({ transport: silent() }, async ({ bq, clock }) => {
    await bq.connect();
    const message = /'shop': no answer within 30000 ms$/;
    const looks = [bq.size("shop"), Array.fromAsync(bq.peek("shop"))].map((look) =>
      assert.rejects(look, { code: "connection", message })
    );
    await clock.advance(29_999);
    const early = await Promise.race([...looks, Promise.resolve("waiting")]);
    assert.equal(early, "waiting");
    await clock.advance(1);
    await Promise.all(looks);
  });
});

test("close() ends peek() and size()", async () => {
  await withApp({ transport: silent() }, async ({ bq, clock }) => {
    await bq.connect();
    const looks = [bq.size("shop"), Array.fromAsync(bq.peek("shop"))].map((look) =>
      assert.rejects(look, { code: "closed" })
    );
    await clock.advance(0);
    await ended(bq.close(), clock);
    await Promise.all(looks);
    assert.equal(clock.pending, 0);
  });
});

test("peek() ends the transport's iterator when its reader stops early", async () => {
  const transport = new ScriptedTransport();
  let ended = 0;
  Object.assign(transport, {
    async *peek() {
      try {
        for (;;) yield { body: new Uint8Array(), headers: {}, state: "ready" };
      } finally {
        ended++;
      }
    },
  });
  await withApp({ transport }, async ({ bq }) => {
    for await (const seen of bq.peek("shop")) {
      assert.equal(seen.state, "ready");
      break;
    }
    assert.equal(ended, 1);
  });
});

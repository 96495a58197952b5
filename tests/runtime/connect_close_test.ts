import assert from "node:assert/strict";
import { BabelQueueError, ConnectionError } from "@bq/core";
import { test } from "../harness.ts";
import { ended, NOW_MS, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

test("close() ends every wait for the connection, even for an open that ignores its signal", async () => {
  for (const ignores of [false, true]) {
    let signal: AbortSignal | undefined;
    const transport = new ScriptedTransport({
      open: (_context, given) => {
        signal = given;
        if (ignores) return never();
        return new Promise((_, reject) =>
          given!.addEventListener("abort", () => reject(new Error("aborted")))
        );
      },
    });
    await withApp({ transport, shutdownTimeoutMs: 2_000 }, async ({ bq, clock }) => {
      const closed = { name: "BabelQueueError", code: "closed" };
      const waiting = Promise.all([
        assert.rejects(bq.connect(), closed),
        assert.rejects(bq.publish(URN, {}), closed),
        bq.run(),
      ]);
      await clock.advance(0);
      const closing = bq.close();
      await clock.advance(0);
      assert.equal(signal?.aborted, true);
      await waiting;
      await ended(closing, clock);
      assert.ok(clock.now() <= NOW_MS + 2_000);
      assert.equal(transport.published.length, 0);
    });
  }
});

test("an open that is under way ends before the transport is closed, and counts no more", async () => {
  for (const succeeds of [true, false]) {
    const transport = new ScriptedTransport();
    transport.script.open = async ({ clock }) => {
      // It heeds no signal, so it is still there when the App is told to close.
      await clock.sleep(500);
      transport.log.push("opened");
      if (!succeeds) throw new Error("refused");
    };
    await withApp({ transport }, async ({ bq, clock, seen }) => {
      const outcome = assert.rejects(bq.connect(), { code: "closed" });
      await clock.advance(100);
      const closing = bq.close();
      await clock.advance(399);
      assert.deepEqual(transport.log, []);
      await clock.advance(1);
      await Promise.all([closing, outcome]);
      assert.deepEqual(transport.log, ["opened", "close"]);
      assert.equal(bq.health().connected, false);
      assert.equal(seen.of("connected").length, 0);
    });
  }
});

test("a transport whose open never ends is closed all the same, within the time", async () => {
  let signal: AbortSignal | undefined;
  const transport = new ScriptedTransport({
    open: () => never(),
    close: (given) => (signal = given, undefined),
  });
  await withApp({ transport, shutdownTimeoutMs: 2_000 }, async ({ bq, clock }) => {
    const outcome = assert.rejects(bq.connect(), { code: "closed" });
    await clock.advance(0);
    const closing = bq.close();
    await clock.advance(1_999);
    await Promise.all([closing, outcome]);
    assert.deepEqual(transport.log, ["close"]);
    assert.equal(signal?.aborted, true);
  });
});

test("close() ends the wait between two tries", async () => {
  const refused = (): Promise<never> => Promise.reject(new ConnectionError("refused"));
  const transport = new ScriptedTransport({ open: refused });
  await withApp({ transport }, async ({ bq, clock }) => {
    const connecting = assert.rejects(bq.connect(), { code: "closed" });
    await clock.advance(0);
    await bq.close();
    await connecting;
    assert.equal(clock.now(), NOW_MS);
  });
});

test("an App that is closed refuses every call by name", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    await bq.close();
    const closed = (error: unknown): boolean => {
      assert.ok(error instanceof BabelQueueError);
      assert.deepEqual([error.code, /closed$/.test(error.message)], ["closed", true]);
      return true;
    };
    await assert.rejects(bq.connect(), closed);
    await assert.rejects(bq.publish(URN, {}), closed);
    await assert.rejects(bq.publishRaw("shop", new Uint8Array()), closed);
    await assert.rejects(bq.run(), closed);
    await assert.rejects(bq.consume(), closed);
    await assert.rejects(bq.publishMany([{ message: URN, data: {} }]), { code: "closed" });
    assert.deepEqual([transport.opens, transport.log], [0, ["close"]]);
  });
});

import assert from "node:assert/strict";
import { BabelQueueError, PublishUncertainError } from "@bq/core";
import { test } from "../harness.ts";
import { bytes, ended, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

/** Asserts that the publish is not there. */
function notSent(error: unknown): boolean {
  assert.ok(error instanceof BabelQueueError, String(error));
  assert.ok(["connection", "publish_failed", "closed"].includes(error.code), error.code);
  return true;
}

test("a publish whose deadline passes before it is sent is an error, and is never sent", async () => {
  const opening = gate();
  const transport = new ScriptedTransport({ open: () => opening.opened });
  await withApp({ transport }, async ({ bq, clock }) => {
    const outcome = assert.rejects(bq.publish(URN, {}, { timeoutMs: 500 }), notSent);
    await clock.advance(500);
    await outcome;
    opening.open();
    await clock.advance(60_000);
    assert.equal(transport.published.length, 0);
    await bq.publish(URN, {});
    assert.deepEqual([transport.opens, transport.published.length], [1, 1]);
  });
});

test("a publish that was sent and is not confirmed in time is uncertain", async () => {
  const transport = new ScriptedTransport({ publish: () => never() });
  await withApp({ transport }, async ({ bq, clock }) => {
    await bq.connect();
    for (const timeoutMs of [1, 500, 45_000]) {
      const from = clock.now();
      const outcome = assert.rejects(bq.publish(URN, {}, { timeoutMs }), (error) => {
        assert.ok(error instanceof PublishUncertainError);
        assert.equal(
          error.message,
          `Cannot confirm a publish to 'shop': no confirmation within ${timeoutMs} ms`,
        );
        assert.equal(clock.now() - from, timeoutMs);
        return true;
      });
      await clock.advance(timeoutMs);
      await outcome;
    }
  });
});

test("a publish is called off a tenth of its time before the end, at most a second", async () => {
  for (const [timeoutMs, calledOffMs] of [[100, 90], [5_000, 4_500], [60_000, 59_000]] as const) {
    let signal: AbortSignal | undefined;
    const transport = new ScriptedTransport({
      publish: (_queue, _messages, given) => (signal = given, never()),
    });
    await withApp({ transport }, async ({ bq, clock }) => {
      const outcome = assert.rejects(bq.publish(URN, {}, { timeoutMs }), PublishUncertainError);
      await clock.advance(calledOffMs - 1);
      assert.equal(signal?.aborted, false, String(timeoutMs));
      await clock.advance(1);
      assert.equal(signal?.aborted, true, String(timeoutMs));
      await clock.advance(timeoutMs - calledOffMs);
      await outcome;
    });
  }
});

test("what the transport says within a second of being called off counts", async () => {
  const answers = [
    ["confirmed", [{ status: "confirmed" }]],
    ["publish_failed", [{ status: "failed", error: new Error("never written") }]],
    ["publish_uncertain", [{ status: "uncertain", error: new Error("written, cut") }]],
  ] as const;
  for (const [expected, answer] of answers) {
    const transport = new ScriptedTransport({
      publish: (_queue, _messages, signal) =>
        new Promise((resolve) =>
          signal!.addEventListener(
            "abort",
            () => void transport.context!.clock.sleep(900).then(() => resolve(answer)),
          )
        ),
    });
    await withApp({ transport }, async ({ bq, clock }) => {
      const outcome = bq.publish(URN, {}, { timeoutMs: 10_000 }).then(
        () => "confirmed",
        (error) => error.code,
      );
      assert.equal(await ended(outcome, clock), expected);
    });
  }
});

test("a transport that ends with its signal has not sent the message", async () => {
  const transport = new ScriptedTransport({
    publish: (_queue, _messages, signal) =>
      new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason))),
  });
  await withApp({ transport }, async ({ bq, clock }) => {
    const outcome = assert.rejects(bq.publish(URN, {}, { timeoutMs: 100 }), {
      code: "publish_failed",
    });
    await clock.advance(100);
    await outcome;
  });
});

test("a publish whose signal was aborted before sends nothing", async () => {
  const transport = new ScriptedTransport();
  const signal = AbortSignal.abort();
  await withApp({ transport }, async ({ bq, clock }) => {
    for (let round = 0; round < 2; round++) {
      await assert.rejects(bq.publish(URN, {}, { signal }), notSent);
      await assert.rejects(bq.publishRaw("shop", bytes("x"), { signal }), notSent);
      await assert.rejects(bq.publishMany([{ message: URN, data: {} }], { signal }), {
        name: "PublishManyError",
      });
      await bq.connect();
    }
    await clock.advance(60_000);
    assert.equal(transport.published.length, 0);
  });
});

test("a publish whose signal is aborted while it connects sends nothing", async () => {
  const opening = gate();
  const transport = new ScriptedTransport({ open: () => opening.opened });
  await withApp({ transport }, async ({ bq, clock }) => {
    const abort = new AbortController();
    const outcome = assert.rejects(bq.publish(URN, {}, { signal: abort.signal }), notSent);
    await clock.advance(5);
    abort.abort();
    await outcome;
    assert.equal(clock.now(), NOW_MS + 5);
    opening.open();
    await clock.advance(0);
    assert.equal(transport.published.length, 0);
  });
});

test("a publish whose signal is aborted once it was sent is uncertain a second later", async () => {
  let given: AbortSignal | undefined;
  const transport = new ScriptedTransport({
    publish: (_queue, _messages, signal) => (given = signal, never()),
  });
  await withApp({ transport }, async ({ bq, clock }) => {
    const abort = new AbortController();
    const outcome = assert.rejects(bq.publish(URN, {}, { signal: abort.signal }), {
      code: "publish_uncertain",
      message: "Cannot confirm a publish to 'shop': the publish was cancelled",
    });
    await clock.advance(5);
    assert.equal(given?.aborted, false);
    abort.abort();
    assert.equal(given?.aborted, true);
    await clock.advance(1_000);
    await outcome;
  });
});

test("a publish whose signal is aborted takes no longer for it than its time-out", async () => {
  const transport = new ScriptedTransport({ publish: () => never() });
  await withApp({ transport }, async ({ bq, clock }) => {
    // Before it is called off, and after that.
    for (const abortedAtMs of [4_400, 4_600]) {
      const from = clock.now();
      const abort = new AbortController();
      const publishing = bq.publish(URN, {}, { timeoutMs: 5_000, signal: abort.signal });
      const outcome = assert.rejects(publishing, (error) => {
        assert.ok(error instanceof PublishUncertainError);
        assert.equal(clock.now() - from, 5_000);
        return true;
      });
      await clock.advance(abortedAtMs);
      abort.abort();
      await clock.advance(10_000);
      await outcome;
    }
  });
});

test("close() ends a publish that hangs: it is uncertain", async () => {
  const transport = new ScriptedTransport({ publish: () => never() });
  await withApp({ transport }, async ({ bq, clock }) => {
    const outcome = assert.rejects(bq.publish(URN, {}), {
      code: "publish_uncertain",
      message: "Cannot confirm a publish to 'shop': the App was closed",
    });
    await clock.advance(0);
    await bq.close();
    await outcome;
    assert.equal(clock.now(), NOW_MS);
  });
});

test("a publish that the transport confirms while it closes is confirmed", async () => {
  const confirming = gate();
  const transport = new ScriptedTransport({
    publish: () => confirming.opened.then(() => [{ status: "confirmed" }]),
    close: () => (confirming.open(), Promise.resolve()),
  });
  await withApp({ transport }, async ({ bq, clock }) => {
    const publishing = bq.publish(URN, {});
    await clock.advance(0);
    await bq.close();
    assert.match(await publishing, /-/);
  });
});

test("an answer that comes after the deadline disturbs nobody", async () => {
  const rejecting = gate();
  const transport = new ScriptedTransport({
    publish: () => rejecting.opened.then(() => Promise.reject(new Error("too late"))),
  });
  await withApp({ transport }, async ({ bq, clock }) => {
    const outcome = assert.rejects(bq.publish(URN, {}, { timeoutMs: 1 }), PublishUncertainError);
    await clock.advance(1);
    await outcome;
    rejecting.open();
    await clock.advance(0);
  });
});

/** A signal that counts its listeners. */
function counted(): { readonly signal: AbortSignal; readonly abort: () => void; count: number } {
  const { signal, ...rest } = (() => {
    const controller = new AbortController();
    return { signal: controller.signal, abort: () => controller.abort() };
  })();
  const result = { signal, count: 0, ...rest };
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    result.count++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    result.count--;
    removeEventListener.apply(signal, args);
  };
  return result;
}

test("no call leaves a listener on the signal it was given, or a wait behind", async () => {
  const transport = new ScriptedTransport({
    publish: (queue) => queue === "bad" ? Promise.reject(new Error("full")) : undefined,
  });
  await withApp({ transport, deadLetter: true }, async ({ bq, clock }) => {
    const watched = counted();
    const { signal } = watched;
    await bq.connect({ signal });
    for (let n = 0; n < 5; n++) {
      await bq.publish(URN, {}, { signal });
      await bq.publishMany([{ message: URN, data: {} }], { signal });
      await bq.publishRaw("shop", bytes("x"), { signal });
      await assert.rejects(bq.publish(URN, {}, { queue: "bad", signal }));
      await ended(bq.consume({ waitMs: 0, signal }), clock);
      const running = bq.run({ signal, forceSignal: signal });
      await clock.advance(0);
      await ended(Promise.all([bq.stop(), running]), clock);
    }
    assert.equal(watched.count, 0);
    await clock.advance(1_000);
    assert.equal(clock.pending, 0);
  });
});

test("a publish whose signal is aborted already opens no connection, and says why it ended", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    const reason = new Error("the request is gone");
    const signal = AbortSignal.abort(reason);
    for (
      const publish of [
        () => bq.publish(URN, {}, { signal }),
        () => bq.publishRaw("shop", bytes("x"), { signal }),
      ]
    ) {
      await assert.rejects(publish(), { code: "publish_failed", cause: reason });
    }
    assert.equal(transport.opens, 0);
  });
});

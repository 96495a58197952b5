import assert from "node:assert/strict";
import { test } from "../harness.ts";
import { ended, URN, withApp } from "./_app.ts";
import { onLease } from "./_lease.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

test("a handler that forces the stop when its time is over leaves its own message to its fate", async () => {
  const transport = new ScriptedTransport();
  const force = new AbortController();
  const options = { transport, deadLetter: true, maxAttempts: 1, handlerTimeoutMs: 100 };
  await withApp(options, async ({ bq, clock, seen }) => {
    bq.handle(URN, (_, ctx) => {
      ctx.signal.addEventListener("abort", () => force.abort());
      return never();
    });
    transport.put("shop");
    await ended(bq.run({ forceSignal: force.signal }), clock);
    assert.deepEqual(transport.verdicts, ["deadLetter"]);
    assert.equal(seen.of("failed").length, 1);
    assert.equal(seen.of("lateResult").length, 0);
  });
});

test("a handler that forces the stop when its lease is lost is not settled, and the others go back", async () => {
  await onLease({ concurrency: 2 }, async ({ bq, transport, clock, seen, signals }) => {
    const first = transport.put("shop");
    transport.put("shop");
    await clock.advance(0);
    signals[0]!.addEventListener("abort", () => void bq.close());
    let inFlight: number | undefined;
    signals[0]!.addEventListener("abort", () => inFlight = bq.health().queues[0]?.inFlight);
    transport.subscriptions[0]!.lost(first, new Error("gone"));
    assert.equal(inFlight, 1);
    await ended(bq.close(), clock);
    assert.deepEqual(transport.verdicts, ["return"]);
    assert.equal(seen.of("leaseLost").length, 1);
    assert.equal(seen.of("lateResult").length, 0);
  });
});

test("handlers that force the stop at its deadline give back each message once", async () => {
  const transport = new ScriptedTransport();
  const force = new AbortController();
  const stop = new AbortController();
  const options = { transport, deadLetter: true, concurrency: 3, shutdownTimeoutMs: 5_000 };
  await withApp(options, async ({ bq, clock, seen }) => {
    bq.handle(URN, (_, ctx) => {
      ctx.signal.addEventListener("abort", () => force.abort());
      return never();
    });
    for (let n = 0; n < 3; n++) transport.put("shop");
    const running = bq.run({ signal: stop.signal, forceSignal: force.signal });
    await clock.advance(0);
    stop.abort();
    await ended(running, clock);
    assert.deepEqual(transport.verdicts, ["return", "return", "return"]);
    assert.equal(seen.of("lateResult").length, 0);
  });
});

import assert from "node:assert/strict";
import { type BabelQueueOptions, RetryAfterError, type Verdict } from "@bq/core";
import { test } from "../harness.ts";
import { type Bench, ended, envelope, NOW_MS, parsed, text, URN, withApp } from "./_app.ts";
import { never, type ScriptedOptions, ScriptedTransport } from "./_scripted.ts";

const held: ScriptedOptions = { policy: { retryDelay: { kind: "held" } } };

/** Runs a test on a broker that cannot delay, its worker at work and its handler asking for delays. */
async function onHeld(
  options: BabelQueueOptions,
  work: (bench: Bench<ScriptedTransport>, running: Promise<void>) => Promise<void>,
  transport: ScriptedTransport = new ScriptedTransport({}, held),
): Promise<void> {
  await withApp({ transport, ...options }, async (bench) => {
    const { bq, clock } = bench;
    bq.handle(URN, ({ afterMs }) => {
      if (typeof afterMs === "number") throw new RetryAfterError(afterMs);
    });
    const running = bq.run();
    await clock.advance(0);
    await work(bench, running);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
}

const after = (ms: number): string => envelope({ data: `{"afterMs":${ms}}` });

/** The count that a retry writes. */
function written(verdict: Verdict | undefined): unknown {
  assert.equal(verdict?.kind, "retry");
  return [verdict.attempts, verdict.delayMs, parsed(text(verdict.body)).attempts];
}

test("where the broker cannot delay, the worker holds the message off its slots, then retries it", async () => {
  await onHeld({}, async ({ bq, transport, clock, seen }) => {
    transport.put("shop", after(5_000));
    await clock.advance(0);
    const health = bq.health().queues[0]!;
    assert.deepEqual([health.held, health.inFlight, health.settling], [1, 0, 0]);
    for (let n = 0; n < 3; n++) transport.put("shop");
    await clock.advance(4_999);
    assert.deepEqual(transport.verdicts, ["ack", "ack", "ack"]);
    assert.equal(seen.of("retried").length, 0);
    await clock.advance(1);
    assert.deepEqual(written(transport.settled[3]?.verdict), [1, 0, 1]);
    assert.equal(bq.health().queues[0]!.held, 0);
    assert.equal(seen.of("retried").length, 1);
  });
});

test("a hold takes as long as the options say when the handler asks for nothing", async () => {
  await onHeld({ retry: { baseMs: 300, multiplier: 2 } }, async ({ bq, transport, clock }) => {
    bq.handle("urn:babel:boom", () => {
      throw new Error("boom");
    });
    transport.put("shop", envelope({ job: '"urn:babel:boom"', attempts: "1" }));
    await clock.advance(599);
    assert.deepEqual(transport.verdicts, []);
    await clock.advance(1);
    assert.deepEqual(transport.verdicts, ["retry"]);
  });
});

test("a hold is cut by maxHoldMs, with one warning for the worker", async () => {
  for (
    const [retry, maxMs] of [[{}, 30_000], [{ maxHoldMs: 700 }, 700], [
      { maxHoldMs: 0 },
      0,
    ]] as const
  ) {
    await onHeld({ retry, concurrency: 3 }, async ({ transport, clock, seen }) => {
      for (let n = 0; n < 3; n++) transport.put("shop", after(60_000));
      if (maxMs > 0) {
        await clock.advance(maxMs - 1);
        assert.deepEqual(transport.verdicts, []);
        await clock.advance(1);
      } else await clock.advance(0);
      assert.deepEqual(transport.verdicts, ["retry", "retry", "retry"]);
      const warnings = seen.of("warning").filter(({ code }) => code === "delay_cut");
      assert.deepEqual(warnings.map(({ level }) => level), ["warn"]);
      assert.match(warnings[0]!.message, /60000 ms/);
    });
  }
});

test("stop() cuts holds short: the messages are retried, counted, at once", async () => {
  await onHeld({ concurrency: 2 }, async ({ bq, transport, clock, seen }, running) => {
    for (let n = 0; n < 2; n++) transport.put("shop", after(10_000));
    await clock.advance(1_000);
    assert.equal(bq.health().queues[0]!.held, 2);
    await ended(Promise.all([bq.stop(), running]), clock);
    assert.equal(clock.now(), NOW_MS + 1_000);
    for (const { verdict } of transport.settled) assert.deepEqual(written(verdict), [1, 0, 1]);
    assert.deepEqual([transport.settled.length, seen.of("retried").length], [2, 2]);
  });
});

test("a message that fails while the worker stops is not held", async () => {
  await onHeld({}, async ({ bq, transport, clock }, running) => {
    bq.handle("urn:babel:slow", async () => {
      await clock.sleep(2_000);
      throw new RetryAfterError(10_000);
    });
    transport.put("shop", envelope({ job: '"urn:babel:slow"' }));
    await clock.advance(0);
    const stopping = bq.stop();
    await clock.advance(2_000);
    await Promise.all([stopping, running]);
    assert.deepEqual(transport.verdicts, ["retry"]);
    assert.equal(clock.now(), NOW_MS + 2_000);
  });
});

test("consume() that ends cuts holds short too", async () => {
  const transport = new ScriptedTransport({}, held);
  await withApp({ transport }, async ({ bq, clock }) => {
    await bq.connect();
    bq.handle(URN, () => {
      throw new RetryAfterError(10_000);
    });
    transport.put("shop");
    const consuming = bq.consume({ waitMs: 100 });
    await clock.advance(99);
    assert.equal(transport.settled.length, 0);
    await clock.advance(1);
    const counts = await consuming;
    assert.deepEqual([counts.failed, counts.retried], [1, 1]);
  });
});

test("a thousand messages are held at a time; further ones are retried at once, with one warning", async () => {
  await onHeld({ concurrency: 10 }, async ({ bq, transport, clock, seen }) => {
    for (let n = 0; n < 1_010; n++) transport.put("shop", after(5_000));
    await clock.advance(100);
    assert.equal(bq.health().queues[0]!.held, 1_000);
    assert.equal(transport.settled.length, 10);
    const warnings = seen.of("warning").filter(({ code }) => code === "hold_limit");
    assert.equal(warnings.length, 1);
    assert.match(warnings[0]!.message, /^1000 messages/);
    await clock.advance(5_000);
    assert.equal(transport.settled.length, 1_010);
  });
});

test("the release of an unknown URN is held for a second where it would come back at once", async () => {
  const options = { onUnknownUrn: "release" } as const;
  for (const [releaseMs, waitMs] of [[0, 1_000], [400, 400]] as const) {
    await onHeld(
      { ...options, unknownUrnReleaseDelayMs: releaseMs },
      async ({ transport, clock }) => {
        transport.put("shop", envelope({ job: '"urn:babel:unknown"' }));
        await clock.advance(waitMs - 1);
        assert.deepEqual(transport.verdicts, []);
        await clock.advance(1);
        assert.deepEqual(transport.settled.map(({ verdict }) => verdict), [
          { kind: "release", delayMs: 0 },
        ]);
      },
    );
  }
});

test("the lease of a message that is held is extended", async () => {
  const transport = new ScriptedTransport({}, { ...held, leaseMs: 1_000 });
  await onHeld({}, async ({ clock, seen }) => {
    const delivery = transport.put("shop", after(3_000));
    await clock.advance(3_000);
    assert.deepEqual(transport.verdicts, ["retry"]);
    assert.ok(transport.extended.length >= 4, `${transport.extended.length}`);
    assert.ok(transport.extended.every((extended) => extended === delivery));
    const extended = transport.extended.length;
    await clock.advance(10_000);
    assert.deepEqual([transport.extended.length, seen.of("leaseLost").length], [extended, 0]);
  }, transport);
});

test("a message that is lost while it is held is not settled", async () => {
  const ways: Record<string, (bench: Bench<ScriptedTransport>) => Promise<void>> = {
    "the transport says so": async ({ transport, clock }) => {
      await clock.advance(100);
      transport.subscriptions[0]!.lost(last!, new Error("channel gone"));
    },
    "extend() gives null": async ({ transport, clock }) => {
      transport.script.extend = () => Promise.resolve(null);
      await clock.advance(500);
    },
    "the lease runs out": async ({ transport, clock }) => {
      transport.script.extend = () => never();
      await clock.advance(1_000);
    },
  };
  let last: ReturnType<ScriptedTransport["put"]> | undefined;
  for (const [way, happen] of Object.entries(ways)) {
    const transport = new ScriptedTransport({}, { ...held, leaseMs: 1_000 });
    await onHeld({}, async (bench) => {
      last = transport.put("shop", after(20_000));
      await bench.clock.advance(0);
      await happen(bench);
      assert.equal(bench.bq.health().queues[0]!.held, 0, way);
      await bench.clock.advance(60_000);
      assert.deepEqual(transport.settled, [], way);
      assert.equal(bench.seen.of("leaseLost").length, 1, way);
    }, transport);
  }
});

test("a broker whose tiers decide is not held for", async () => {
  const transport = new ScriptedTransport({}, { policy: { retryDelay: { kind: "tiers" } } });
  await onHeld({}, async ({ clock, seen }) => {
    transport.put("shop", after(60_000));
    await clock.advance(0);
    assert.deepEqual(written(transport.settled[0]?.verdict), [1, 0, 1]);
    assert.equal(seen.of("warning").filter(({ code }) => code === "delay_cut").length, 0);
  }, transport);
});

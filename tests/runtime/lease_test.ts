import assert from "node:assert/strict";
import { type Clock, SettleWriteError } from "@bq/core";
import { test } from "../harness.ts";
import { B0, ended, gate, NOW_MS, URN, withApp } from "./_app.ts";
import { onLease } from "./_lease.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

test("a lease is extended at half of what is left, again and again, until the settle", async () => {
  await onLease({ leaseMs: 10_000 }, async ({ transport, clock, finish, seen }) => {
    const delivery = transport.put("shop");
    await clock.advance(4_999);
    assert.equal(transport.extended.length, 0);
    await clock.advance(1);
    assert.deepEqual(transport.extended, [delivery]);
    await clock.advance(4_999);
    assert.equal(transport.extended.length, 1);
    await clock.advance(50_001);
    assert.equal(transport.extended.length, 12);
    finish();
    await clock.advance(60_000);
    assert.equal(transport.extended.length, 12);
    assert.deepEqual(transport.verdicts, ["ack"]);
    assert.equal(seen.of("leaseLost").length, 0);
  });
});

test("a lease is not extended once the settle was issued, however long the answer takes", async () => {
  await onLease({ leaseMs: 10_000 }, async ({ transport, clock, finish, seen }) => {
    const settling = gate();
    transport.script.settle = () => settling.opened.then(() => "settled");
    transport.put("shop");
    finish();
    await clock.advance(29_000);
    assert.deepEqual([transport.extended.length, transport.verdicts], [0, ["ack"]]);
    settling.open();
    await clock.advance(0);
    assert.equal(seen.of("leaseLost").length, 0);
  });
});

test("a lease is extended until the handler's time-out, not beyond", async () => {
  await onLease({ leaseMs: 10_000, handlerTimeoutMs: 60_000 }, async ({ transport, clock }) => {
    transport.put("shop");
    await clock.advance(60_000);
    assert.deepEqual(transport.verdicts, ["retry"]);
    const extended = transport.extended.length;
    assert.ok(extended >= 11);
    await clock.advance(60_000);
    assert.equal(transport.extended.length, extended);
  });
});

test("the lease of a message that waits for its slot is extended too", async () => {
  await onLease({ leaseMs: 10_000 }, async ({ transport, clock, finish }) => {
    const two = [transport.put("a"), transport.put("b")];
    transport.script.receive = () => {
      delete transport.script.receive;
      return Promise.resolve(two);
    };
    await clock.advance(1_000);
    await clock.advance(19_000);
    assert.deepEqual(new Set(transport.extended), new Set(two));
    finish();
    await clock.advance(0);
    assert.deepEqual(transport.verdicts, ["ack", "ack"]);
  });
});

test("the lease of a message is extended while the worker drains after the request to stop", async () => {
  await onLease({ leaseMs: 10_000 }, async ({ bq, transport, clock, finish, seen }) => {
    const delivery = transport.put("shop");
    await clock.advance(0);
    const stopping = bq.stop();
    await clock.advance(20_000);
    assert.deepEqual(transport.extended, Array(4).fill(delivery));
    finish();
    await ended(stopping, clock);
    assert.deepEqual([transport.verdicts, seen.of("leaseLost").length], [["ack"], 0]);
  });
});

test("extend() that fails is tried again while there is time, and its answer counts", async () => {
  const failures: readonly (() => Promise<never>)[] = [
    () => Promise.reject(new Error("reset by peer")),
    () => Promise.reject("reset by peer"),
    () => {
      throw new Error("reset by peer");
    },
  ];
  for (const failure of failures) {
    await onLease({}, async ({ transport, clock, finish, seen }) => {
      let fails = 3;
      const at: number[] = [];
      transport.script.extend = () => {
        at.push(clock.now() - NOW_MS);
        return fails-- > 0 ? failure() : undefined;
      };
      transport.put("shop");
      await clock.advance(10_000);
      assert.deepEqual(at, [5_000, 7_500, 8_750, 9_375]);
      await clock.advance(5_000);
      finish();
      await clock.advance(0);
      assert.deepEqual([transport.verdicts, seen.of("leaseLost").length], [["ack"], 0]);
    });
  }
});

test("extend() is not tried again within 20 ms, and not at all when less is left", async () => {
  await onLease({ leaseMs: 1_000 }, async ({ transport, clock, seen }) => {
    const at: number[] = [];
    transport.script.extend = () => {
      at.push(clock.now() - NOW_MS);
      return Promise.reject(new Error("reset by peer"));
    };
    transport.put("shop");
    await clock.advance(999);
    assert.deepEqual(at, [500, 750, 875, 938, 969, 989]);
    assert.equal(seen.of("leaseLost").length, 0);
    await clock.advance(1);
    assert.deepEqual([at.length, seen.of("leaseLost").length], [6, 1]);
  });
});

test("the lease is kept through the pause that follows a failed write", async () => {
  const transport = new ScriptedTransport({
    settle: (_, { kind }) =>
      kind === "deadLetter" ? Promise.reject(new SettleWriteError("no space")) : undefined,
  }, { leaseMs: 600, policy: { writeFailed: { kind: "return", holdMs: 1_000 } } });
  const options = { transport, deadLetter: true, maxAttempts: 1 };
  await withApp(options, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    const running = bq.run();
    await clock.advance(0);
    const delivery = transport.put("shop");
    await clock.advance(299);
    assert.deepEqual([transport.extended, transport.verdicts], [[], ["deadLetter"]]);
    await clock.advance(1);
    assert.deepEqual(transport.extended, [delivery]);
    await clock.advance(700);
    assert.deepEqual(transport.verdicts, ["deadLetter", "return"]);
    assert.equal(transport.extended.length, 3);
    await clock.advance(5_000);
    assert.equal(transport.extended.length, 3);
    assert.equal(seen.of("leaseLost").length, 0);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("an unsettled message without a lease is kept as long as it takes", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => clock.sleep(1_000_000));
    const running = bq.run();
    await clock.advance(0);
    transport.put("shop");
    await clock.advance(1_000_000);
    assert.deepEqual([transport.extended.length, seen.of("leaseLost").length], [0, 0]);
    assert.deepEqual(transport.verdicts, ["ack"]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

/** A clock that can be moved in one step, as code that blocks the event loop moves it. */
function jumping(base: Clock): Clock & { jump(elapsedMs: number, wallMs?: number): void } {
  let elapsedMs = 0;
  let wallMs = 0;
  return {
    now: () => base.now() + wallMs,
    elapsed: () => base.elapsed() + elapsedMs,
    sleep: (ms, signal) => base.sleep(ms, signal),
    jump(byMs, wallByMs = byMs) {
      elapsedMs += byMs;
      wallMs += wallByMs;
    },
  };
}

test("a handler that blocks the event loop past its lease settles nothing", async () => {
  const transport = new ScriptedTransport({}, { leaseMs: 10_000 });
  await withApp({}, async ({ clock: base }) => {
    const clock = jumping(base);
    await withApp({ transport, clock }, async ({ bq, seen }) => {
      bq.handle(URN, () => clock.jump(10_000));
      const running = bq.run();
      await base.advance(0);
      transport.put("shop");
      await base.advance(0);
      assert.deepEqual(transport.settled, []);
      assert.equal(seen.of("leaseLost").length, 1);
      assert.equal(bq.health().queues[0]?.inFlight, 0);
      // The next one is handled in time.
      bq.handle("urn:babel:quick", () => clock.jump(9_999));
      transport.put("shop", B0.replace(URN, "urn:babel:quick"));
      await base.advance(0);
      assert.deepEqual(transport.verdicts, ["ack"]);
      await ended(Promise.all([bq.stop(), running]), base);
    });
  });
});

test("a wall clock that is set neither ends nor prolongs a lease", async () => {
  for (const setMs of [-3_600_000, 3_600_000]) {
    const transport = new ScriptedTransport({}, { leaseMs: 10_000, extends: false });
    await withApp({}, async ({ clock: base }) => {
      const clock = jumping(base);
      await withApp({ transport, clock }, async ({ bq, seen }) => {
        bq.handle(URN, () => never());
        const running = bq.run();
        await base.advance(0);
        for (let round = 1; round <= 2; round++) {
          transport.put("shop");
          await base.advance(1_000);
          clock.jump(0, setMs);
          await base.advance(8_999);
          assert.equal(seen.of("leaseLost").length, round - 1, String(setMs));
          await base.advance(1);
          assert.equal(seen.of("leaseLost").length, round, String(setMs));
        }
        await ended(Promise.all([bq.stop(), running]), base);
      });
    });
  }
});

import assert from "node:assert/strict";
import type { Delivery, Subscription, Transport } from "@bq/core";
import { test } from "../harness.ts";
import { B0, bytes, ended, URN, withApp } from "./_app.ts";
import { onLease } from "./_lease.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

/** An answer that breaks the types of the seam. */
function wrong<T>(answer: unknown): T {
  return answer as T;
}

function delivery(extra: object = {}): Delivery {
  return { queue: "shop", body: bytes(B0), headers: {}, counting: {}, ...extra };
}

test("a receive that brings what is no delivery is reported and paced, and the rest is worked on", async () => {
  const answers: readonly (readonly [answer: unknown, handled: number])[] = [
    [undefined, 0],
    [null, 0],
    ["message", 0],
    [{}, 0],
    [[null], 0],
    [[, delivery()], 1],
    [[undefined, delivery(), 5, delivery()], 2],
    [[delivery({ body: undefined })], 0],
    [[delivery({ headers: undefined }), delivery({ counting: null })], 0],
    [[delivery({ leaseUntilMs: NaN }), delivery({ leaseUntilMs: "soon" })], 0],
    [[new Proxy({}, { get: () => assert.fail("no member may be read") })], 0],
  ];
  for (const [row, [answer, count]] of answers.entries()) {
    const transport = new ScriptedTransport();
    let asked = 0;
    transport.script.receive = () =>
      ++asked === 1 ? Promise.resolve(wrong(answer)) : asked === 2 ? undefined : never();
    await withApp({ transport, deadLetter: true, concurrency: 4 }, async ({ bq, clock, seen }) => {
      bq.handle(URN, () => {});
      const running = bq.run();
      await clock.advance(0);
      assert.equal(seen.of("receiveFailed").length, 1, `row ${row}`);
      assert.match(seen.of("receiveFailed")[0]!.error.message, /'shop'.*no delivery/);
      assert.deepEqual([seen.of("handled").length, asked], [count, 1]);
      // It goes on, after a pause.
      transport.put("shop");
      await clock.advance(200);
      assert.equal(seen.of("handled").length, count + 1);
      await ended(Promise.all([bq.stop(), running]), clock);
    });
  }
});

test("consume() does not take what is no answer for an empty queue", async () => {
  const transport = new ScriptedTransport();
  let asked = 0;
  transport.script.receive = () => ++asked === 1 ? Promise.resolve(wrong(undefined)) : undefined;
  transport.put("shop");
  await withApp({ transport, deadLetter: true }, async ({ bq, clock }) => {
    bq.handle(URN, () => {});
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).handled, 1);
  });
});

test("answers that are no promises are as good as promises of them", async () => {
  const transport = new ScriptedTransport();
  const subscribe = transport.subscribe.bind(transport);
  let inner: Subscription;
  Object.assign(transport, {
    open(...args: Parameters<Transport["open"]>) {
      transport.context = args[0];
    },
    subscribe(...args: Parameters<Transport["subscribe"]>) {
      void subscribe(...args).then((made) => inner = made);
      let given = false;
      return {
        lanes: 1,
        receive: (max: number, waitMs: number) => {
          if (given) return inner.receive(max, waitMs);
          given = true;
          return [delivery({ leaseUntilMs: transport.context!.clock.now() + 1_000 })];
        },
        settle: () => "settled",
        extend: () => transport.context!.clock.now() + 1_000,
        close: () => {},
      };
    },
    publish: (_queue: string, messages: readonly unknown[]) => ({
      // A thenable, without `catch` or `finally`.
      then: (resolve: (outcomes: unknown) => void) =>
        resolve(messages.map(() => ({ status: "confirmed" }))),
    }),
  });
  await withApp({ transport, deadLetter: true }, async ({ bq, clock, seen }) => {
    await bq.publish(URN, {});
    bq.handle(URN, () => clock.sleep(5_000));
    const running = bq.run();
    await clock.advance(10_000);
    assert.deepEqual(seen.events.map(({ type }) => type), ["connected", "started", "handled"]);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a subscribe that brings no subscription ends the run with an error", async () => {
  const good = { receive: never, settle: never, close: () => Promise.resolve() };
  const rows: readonly (readonly [answer: unknown, message: RegExp])[] = [
    [undefined, /^Cannot subscribe to 'shop': the transport gave no subscription$/],
    [{ ...good, lanes: 1, settle: undefined }, /no subscription$/],
    [{ ...good, lanes: 1, extend: 5 }, /no subscription$/],
    [good, /a subscription of undefined lanes$/],
    [{ ...good, lanes: 0 }, /a subscription of 0 lanes$/],
    [{ ...good, lanes: NaN }, /a subscription of NaN lanes$/],
  ];
  for (const [answer, message] of rows) {
    const transport = new ScriptedTransport();
    transport.subscribe = () => Promise.resolve(wrong(answer));
    await withApp({ transport, deadLetter: true }, async ({ bq, clock }) => {
      bq.handle(URN, () => {});
      await assert.rejects(ended(bq.run(), clock), { code: "connection", fatal: true, message });
    });
  }
});

test("a settle that answers neither settled nor expired is reported as failed", async () => {
  const rows: readonly (readonly [answer: unknown, shown: string])[] = [
    [undefined, "undefined"],
    ["done", "done"],
    [Object.create(null), "[object Object]"],
  ];
  for (const [answer, shown] of rows) {
    const transport = new ScriptedTransport({ settle: () => Promise.resolve(wrong(answer)) });
    await withApp({ transport, deadLetter: true }, async ({ bq, clock, seen }) => {
      bq.handle(URN, () => {});
      transport.put("shop");
      await ended(bq.consume({ waitMs: 0 }), clock);
      const [failed] = seen.of("settleFailed");
      assert.equal(failed!.error.message, `the transport answered ${shown}`);
    });
  }
});

test("an extend that says no time leaves the lease as it is, and its end is told with the reason", async () => {
  for (const answer of [undefined, NaN, Infinity, "soon"]) {
    await onLease({}, async ({ transport, clock, seen, finish, signals }) => {
      transport.script.extend = () => Promise.resolve(wrong(answer));
      transport.put("shop");
      await clock.advance(9_999);
      assert.equal(seen.of("leaseLost").length, 0);
      await clock.advance(1);
      assert.match(seen.of("leaseLost")[0]!.error!.message, new RegExp(`answered ${answer}$`));
      assert.equal(signals[0]?.aborted, true);
      finish();
    });
  }
});

test("what the transport does not say about a publish is uncertain", async () => {
  const failed = { status: "failed", error: new Error("no") };
  const rows: readonly (readonly [answer: unknown, statuses: readonly string[]])[] = [
    [undefined, ["uncertain", "uncertain"]],
    [[], ["uncertain", "uncertain"]],
    [[{ status: "confirmed" }], ["confirmed", "uncertain"]],
    [[, { status: "confirmed" }], ["uncertain", "confirmed"]],
    [[{ status: "ok" }, failed], ["uncertain", "failed"]],
    [[{ status: "failed" }, { status: "uncertain", error: "?" }], ["uncertain", "uncertain"]],
  ];
  for (const [answer, statuses] of rows) {
    const transport = new ScriptedTransport({ publish: () => Promise.resolve(wrong(answer)) });
    await withApp({ transport }, async ({ bq }) => {
      const items = [{ message: URN, data: {} }, { message: URN, data: {} }];
      await assert.rejects(bq.publishMany(items), (error) => {
        const { results } = error as { results: readonly { status: string }[] };
        assert.deepEqual(results.map(({ status }) => status), statuses);
        return true;
      });
      if (statuses[0] !== "uncertain") return;
      await assert.rejects(bq.publish(URN, {}), { code: "publish_uncertain" });
    });
  }
});

test("what has no capabilities or no policy is no transport", async () => {
  const { BabelQueue } = await import("@bq/core");
  for (const missing of ["capabilities", "policy", "open"]) {
    const transport = new ScriptedTransport();
    Object.assign(transport, { [missing]: undefined });
    assert.throws(() => new BabelQueue(transport), /the first argument is no transport$/);
  }
});

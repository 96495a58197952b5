import assert from "node:assert/strict";
import { BabelQueue, defineMessage, memory } from "@bq/core";
import { inject } from "@bq/core/testing";
import { z } from "zod";
import { test } from "../harness.ts";
import { B0, bodies, ended, envelope, parsed, URN, withApp } from "./_app.ts";
import { never } from "./_scripted.ts";

const nothing = (): void => {};
const Order = defineMessage(URN, z.object({}));

test("handle() gives the App back, so that calls can be chained", async () => {
  const bq = new BabelQueue(memory());
  assert.equal(bq.handle("urn:babel:a:b", nothing).handle("urn:babel:a:c", nothing), bq);
  assert.equal(bq.use((_, next) => next()), bq);
  await bq.close();
});

test("handle() refuses a second handler that a message could reach", async () => {
  const rows: readonly [first: string | undefined, second: string | undefined, refused: boolean][] =
    [
      [undefined, undefined, true],
      [undefined, "shop", true],
      ["shop", undefined, true],
      ["shop", "shop", true],
      ["shop", "video", false],
    ];
  const bound = (queue: string | undefined): object => queue === undefined ? {} : { queue };
  for (const [first, second, refused] of rows) {
    for (const message of [URN, Order]) {
      const bq = new BabelQueue(memory());
      bq.handle(URN, nothing, bound(first));
      const again = (): unknown => bq.handle(message as string, nothing, bound(second));
      if (!refused) assert.doesNotThrow(again);
      else {
        assert.throws(again, {
          name: "BabelQueueError",
          code: "duplicate_handler",
          message: `Cannot add a handler for '${URN}': it has one already${
            first === undefined ? "" : ` on queue '${first}'`
          }`,
        });
      }
      await bq.close();
    }
  }
});

test("handle() refuses a blank URN and what is no function", async () => {
  const bq = new BabelQueue(memory());
  const refusal = { name: "BabelQueueError", code: "invalid_option" };
  for (const urn of ["", " \r\n", undefined, null, 7, {}]) {
    assert.throws(() => bq.handle(urn as string, nothing), refusal);
  }
  for (const handler of [undefined, null, "handler", {}]) {
    assert.throws(() => bq.handle(URN, handler as never), refusal);
  }
  assert.doesNotThrow(() => bq.handle(URN, nothing));
  await bq.close();
});

test("a handler that was refused leaves the first one in its place", async () => {
  await withApp({}, async ({ bq, clock }) => {
    const seen: string[] = [];
    bq.handle(URN, () => void seen.push("first"), { queue: "shop" });
    assert.throws(() => bq.handle(URN, () => void seen.push("second")));
    assert.throws(() => bq.handle(URN, () => void seen.push("third"), { maxAttempts: 0 }));
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, ["first"]);
  });
});

test("a handler bound to a queue handles messages from there only", async () => {
  await withApp({ onUnknownUrn: "dead_letter" }, async ({ bq, transport, clock }) => {
    const seen: unknown[] = [];
    bq.handle(URN, (_, ctx) => void seen.push(["on shop", ctx.queue]), { queue: "shop" });
    bq.handle(URN, (_, ctx) => void seen.push(["on video", ctx.queue]), { queue: "video" });
    for (const queue of ["shop", "video", "mail"]) await bq.publish(URN, {}, { queue });
    for (const queue of ["shop", "video", "mail"]) {
      await ended(bq.consume({ queue, waitMs: 0 }), clock);
    }
    assert.deepEqual(seen, [["on shop", "shop"], ["on video", "video"]]);
    assert.equal((await bodies(transport, "mail.dlq")).length, 1);
  });
});

test("a URN is matched exactly: no case, no prefix, no blank", async () => {
  await withApp({ onUnknownUrn: "delete" }, async ({ bq, seen, clock }) => {
    let handled = 0;
    bq.handle(URN, () => void handled++);
    for (const job of [URN.toUpperCase(), `${URN}:x`, URN.slice(0, -1), `${URN}\u00a0`]) {
      await inject(bq, "shop", envelope({ job: JSON.stringify(job) }));
    }
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).dropped, 4);
    assert.equal(handled, 0);
    assert.equal(seen.of("unknownUrn").length, 4);
  });
});

test("a URN that is the name of an object's member is an unknown URN like any other", async () => {
  const names = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];
  await withApp({ onUnknownUrn: "dead_letter" }, async ({ bq, transport, seen, clock }) => {
    bq.handle(URN, () => {});
    for (const name of names) await inject(bq, "shop", envelope({ job: `"${name}"` }));
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([counts.deadLettered, counts.handled], [names.length, 0]);
    assert.deepEqual(seen.of("unknownUrn").map(({ urn }) => urn), names);
    const records = (await bodies(transport, "shop.dlq")).map(parsed);
    assert.deepEqual(records.map(({ job }) => job), names);
  });
  await withApp({}, async ({ bq, clock }) => {
    const seen: string[] = [];
    for (const name of names) {
      bq.handle(name, (_, ctx) => void seen.push(ctx.urn));
      await bq.publish(name, {});
    }
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, names);
  });
});

test("a handler's own maxAttempts stands in for the App's, above and below it", async () => {
  const rows = [[1, 1], [5, 5], [undefined, 3]] as const;
  for (const [maxAttempts, deliveries] of rows) {
    await withApp({ maxAttempts: 3, deadLetter: true }, async ({ bq, transport, clock }) => {
      const attempts: number[] = [];
      const fail = (_: unknown, ctx: { readonly attempt: number }): never => {
        attempts.push(ctx.attempt);
        throw new Error("boom");
      };
      bq.handle(URN, fail, maxAttempts === undefined ? {} : { maxAttempts });
      await inject(bq, "shop", B0);
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(attempts, Array.from({ length: deliveries }, (_, n) => n + 1));
      const record = parsed((await bodies(transport, "shop.dlq"))[0]);
      assert.deepEqual(
        [record.attempts, (record.dead_letter as { attempts: number }).attempts],
        [deliveries, deliveries],
      );
    });
  }
});

test("a handler's own timeoutMs stands in for the App's", async () => {
  await withApp({ handlerTimeoutMs: 60_000, maxAttempts: 1 }, async ({ bq, seen, clock }) => {
    bq.handle(URN, () => never(), { timeoutMs: 500 });
    bq.handle("urn:babel:slow", () => never());
    await bq.publish(URN, {});
    await bq.publish("urn:babel:slow", {});
    const working = bq.consume({ waitMs: 0, concurrency: 2 });
    await clock.advance(500);
    assert.deepEqual(seen.of("failed").map(({ urn, durationMs }) => [urn, durationMs]), [
      [URN, 500],
    ]);
    await clock.advance(59_500);
    assert.deepEqual(seen.of("failed").map(({ durationMs }) => durationMs), [500, 60_000]);
    await ended(working, clock);
  });
});

test("a handler that asks for bigint gets every integer beyond 2^53 exactly, others as numbers", async () => {
  const data = '{"big":9007199254740993,"neg":-12345678901234567890,"safe":9007199254740991,' +
    '"list":[18446744073709551615],"real":1.5,"exp":1e300}';
  await withApp({}, async ({ bq, seen, clock }) => {
    const got: unknown[] = [];
    bq.handle(URN, (data, ctx) => void got.push(data, ctx.envelope.data), { bigint: true });
    await inject(bq, "shop", envelope({ data }));
    await ended(bq.consume({ waitMs: 0 }), clock);
    const exact = {
      big: 9007199254740993n,
      neg: -12345678901234567890n,
      safe: 9007199254740991,
      list: [18446744073709551615n],
      real: 1.5,
      exp: 1e300,
    };
    assert.deepEqual(got, [exact, exact]);
    assert.equal(seen.of("warning").length, 0);
  });
});

test("a handler registered while the worker is at work handles what comes from then on", async () => {
  await withApp({ onUnknownUrn: "release", unknownUrnReleaseDelayMs: 500 }, async (bench) => {
    const { bq, seen, clock } = bench;
    const running = bq.run();
    await bq.publish(URN, {});
    await clock.advance(0);
    assert.equal(seen.of("released")[0]?.delayMs, 500);
    let handled = 0;
    bq.handle(URN, () => void handled++);
    await clock.advance(500);
    assert.equal(handled, 1);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("a warning about rounded integers comes once a URN", async () => {
  await withApp({}, async ({ bq, seen, clock }) => {
    const got: unknown[] = [];
    for (const urn of ["urn:babel:a", "urn:babel:b"]) {
      bq.handle(urn, ({ n }) => void got.push(n));
      for (let n = 0; n < 3; n++) {
        await inject(bq, "shop", envelope({ job: `"${urn}"`, data: '{"n":9007199254740993}' }));
      }
    }
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(got, Array(6).fill(9007199254740992));
    const warnings = seen.of("warning");
    assert.deepEqual(warnings.map(({ code, subject }) => [code, subject?.urn]), [
      ["inexact_integers", "urn:babel:a"],
      ["inexact_integers", "urn:babel:b"],
    ]);
  });
});

test("handle() refuses a definition without a Standard Schema", () => {
  const bq = new BabelQueue(memory());
  const validate = () => ({ value: {} });
  for (const schema of [undefined, null, {}, { "~standard": {} }, validate]) {
    assert.throws(() => bq.handle({ urn: URN, schema } as never, nothing), {
      code: "invalid_option",
      message: `Cannot add a handler for '${URN}': the definition has no Standard Schema`,
    });
  }
  bq.handle(
    { urn: URN, schema: { "~standard": { version: 1, vendor: "own", validate } } },
    nothing,
  );
});

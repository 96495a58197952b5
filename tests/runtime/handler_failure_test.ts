import assert from "node:assert/strict";
import {
  BabelQueue,
  type JsonObject,
  memory,
  NonRetriableError,
  RetryAfterError,
  type RetryOptions,
} from "@bq/core";
import { fakeClock, inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, bodies, ended, envelope, parsed, URN, warned, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

const hostile = {
  toString(): string {
    throw new Error("no text");
  },
  toJSON(): string {
    throw new Error("no JSON");
  },
};

class Wordless extends Error {
  override get message(): string {
    throw new Error("no message");
  }
  override get name(): string {
    throw new Error("no name");
  }
}

const oddlyNamed = Object.assign(new Error("odd"), { name: Symbol("odd") as unknown as string });
const circular: { self?: unknown } = {};
circular.self = circular;

/** What is thrown, and what the record says of it; undefined where only the worker's health counts. */
const THROWN: readonly (readonly [name: string, thrown: unknown, error?: string, type?: string])[] =
  [
    ["an Error", new TypeError("boom"), "boom", "TypeError"],
    ["a string", "boom", "boom", "string"],
    ["undefined", undefined, "undefined", "undefined"],
    ["null", null],
    ["a number", 7, "7", "number"],
    ["a symbol", Symbol("s"), "Symbol(s)", "symbol"],
    ["a bigint", 7n, "7", "bigint"],
    ["false", false, "false", "boolean"],
    ["an object with a message", { message: "boom" }, "boom", "Object"],
    ["an object with a throwing toString", hostile, "[object Object]", "Object"],
    ["an object without a prototype", Object.create(null), "[object Object]", "Object"],
    ["a circular object", circular, "[object Object]", "Object"],
    ["an Error whose members throw", new Wordless()],
    ["an Error whose name is a symbol", oddlyNamed, "odd"],
    ["a function", () => {}],
    ["a message with an unpaired surrogate", new Error("\ud800"), "\ufffd", "Error"],
  ];

for (const [name, thrown, error, type] of THROWN) {
  for (const way of ["throws", "rejects with"]) {
    test(`a handler that ${way} ${name} has failed, and the worker goes on`, async () => {
      await withApp(
        { maxAttempts: 2, deadLetter: true },
        async ({ bq, transport, clock, seen }) => {
          bq.handle(URN, () => {
            if (way === "throws") throw thrown;
            return Promise.reject(thrown);
          });
          let others = 0;
          bq.handle("urn:babel:other", () => void others++);
          await inject(bq, "shop", B0);
          await bq.publish("urn:babel:other", {});
          const counts = await ended(bq.consume({ waitMs: 0 }), clock);
          assert.deepEqual(counts, {
            handled: 1,
            failed: 2,
            retried: 1,
            deadLettered: 1,
            dropped: 0,
          });
          assert.equal(others, 1);
          assert.ok(seen.of("failed").every((event) => Object.is(event.error, thrown)));
          const record = parsed((await bodies(transport, "shop.dlq"))[0]);
          const block = record.dead_letter as Record<string, unknown>;
          assert.deepEqual([block.reason, block.attempts, record.attempts], ["failed", 2, 2]);
          if (error !== undefined) assert.equal(block.error, error);
          if (type !== undefined) assert.equal(block.exception, type);
        },
      );
    });
  }
}

test("whatever a handler throws can be told on the console when nobody listens", async () => {
  for (const [name, thrown] of THROWN) {
    const lines = await warned(async () => {
      const clock = fakeClock();
      const bq = new BabelQueue(memory(), { clock, maxAttempts: 1, deadLetter: true });
      bq.handle(URN, () => {
        throw thrown;
      });
      await bq.publish(URN, {});
      assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).deadLettered, 1, name);
      await bq.close();
    });
    assert.equal(lines.length, 2, name);
    assert.match(lines[0]!, /^BabelQueue failed: /);
    assert.match(lines[1]!, /^BabelQueue deadLettered: /);
  }
});

test("a handler that fails twice has failed once", async () => {
  await withApp({ maxAttempts: 1 }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () =>
      new Promise((_, reject) => {
        reject(new Error("first"));
        reject(new Error("second"));
        throw new Error("third");
      }));
    await bq.publish(URN, {});
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([counts.failed, counts.dropped], [1, 1]);
    assert.match(String(seen.of("failed")[0]?.error), /first/);
  });
});

test("a handler's result is of no interest, whatever it is", async () => {
  const results = [undefined, null, false, 0, "error", new Error("returned"), hostile];
  await withApp({}, async ({ bq, clock }) => {
    bq.handle(URN, ({ n }) => results[n as number]);
    for (let n = 0; n < results.length; n++) await bq.publish(URN, { n });
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).handled, results.length);
  });
});

test("a thenable that a handler gives is waited for", async () => {
  await withApp({ maxAttempts: 1 }, async ({ bq, clock }) => {
    bq.handle(URN, ({ fails }) => ({
      then(resolve: () => void, reject: (error: Error) => void): void {
        if (fails) reject(new Error("boom"));
        else resolve();
      },
    }));
    for (const fails of [true, false]) await bq.publish(URN, { fails });
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([counts.handled, counts.failed], [1, 1]);
  });
});

test("a handler that changes its data and headers changes nothing of the retry", async () => {
  await withApp({}, async ({ bq, transport, clock }) => {
    const seen: unknown[] = [];
    bq.handle(URN, (data, ctx) => {
      seen.push(structuredClone(data));
      (data as Record<string, unknown>).order_id = "changed";
      (ctx.envelope as unknown as { job: string }).job = "changed";
      (ctx.envelope.meta as { queue: string }).queue = "changed";
      throw new Error("boom");
    });
    await inject(bq, "shop", B0);
    await ended(bq.consume({ waitMs: 0, maxMessages: 1 }), clock);
    assert.deepEqual(await bodies(transport, "shop"), [envelope({ attempts: "1" })]);
    await ended(bq.consume({ waitMs: 0, maxMessages: 1 }), clock);
    assert.deepEqual(seen, [{ order_id: 1042 }, { order_id: 1042 }]);
  });
});

test("the wait before a retry grows as the options say, and chance takes its part", async () => {
  const rows: readonly [retry: RetryOptions, chance: number, delays: readonly number[]][] = [
    [{ baseMs: 100 }, 0.5, [100, 100, 100, 100]],
    [{ baseMs: 100, multiplier: 3 }, 0.5, [100, 300, 900, 2_700]],
    [{ baseMs: 100, multiplier: 3, maxMs: 500 }, 0.5, [100, 300, 500, 500]],
    [{ baseMs: 100, multiplier: 2, jitter: "full" }, 0.5, [50, 100, 200, 400]],
    [{ baseMs: 100, multiplier: 2, jitter: "full" }, 0, [0, 0, 0, 0]],
    [{ multiplier: 2, maxMs: 50 }, 0.5, [0, 0, 0, 0]],
  ];
  for (const [retry, chance, delays] of rows) {
    await withApp({ retry, maxAttempts: 5, random: () => chance }, async ({ bq, clock, seen }) => {
      const at: number[] = [];
      bq.handle(URN, () => {
        at.push(clock.now());
        throw new Error("boom");
      });
      await bq.publish(URN, {});
      await ended(bq.consume({ waitMs: 10_000 }), clock);
      assert.deepEqual(seen.of("retried").map(({ delayMs }) => delayMs), delays);
      assert.deepEqual(at.slice(1).map((time, n) => time - at[n]!), delays);
    });
  }
});

test("RetryAfterError is waited for in place of the options, below the cap only", async () => {
  const retry = { baseMs: 100, maxMs: 500 };
  await withApp(
    { retry, maxAttempts: 3, deadLetter: true },
    async ({ bq, clock, seen, transport }) => {
      const at: number[] = [];
      bq.handle(URN, (_, ctx) => {
        at.push(clock.now());
        throw new RetryAfterError(ctx.attempt === 1 ? 7_000 : 0, "busy");
      });
      await bq.publish(URN, {});
      await ended(bq.consume({ waitMs: 10_000 }), clock);
      assert.deepEqual(at.map((time) => time - at[0]!), [0, 7_000, 7_000]);
      assert.deepEqual(seen.of("retried").map(({ delayMs }) => delayMs), [7_000, 0]);
      const block = parsed((await bodies(transport, "shop.dlq"))[0]).dead_letter;
      assert.deepEqual((block as { error: string }).error, "busy");
    },
  );
});

test("NonRetriableError ends a message at once, with a record or without", async () => {
  const cause = new Error("behind it");
  for (const deadLetter of [true, false]) {
    await withApp({ deadLetter }, async ({ bq, transport, clock }) => {
      let handled = 0;
      bq.handle(URN, () => {
        handled++;
        throw new NonRetriableError("no such order", { cause });
      });
      await inject(bq, "shop", B0);
      const counts = await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual([handled, counts.failed, counts.retried], [1, 1, 0]);
      assert.deepEqual([counts.deadLettered, counts.dropped], deadLetter ? [1, 0] : [0, 1]);
      const [record] = await bodies(transport, "shop.dlq");
      if (!deadLetter) return assert.equal(record, undefined);
      const { attempts, dead_letter } = parsed(record);
      const { reason, exception, error } = dead_letter as JsonObject;
      assert.deepEqual([attempts, reason, exception, error], [
        1,
        "failed",
        "NonRetriableError",
        "no such order",
      ]);
    });
  }
});

test("a handler cannot change its headers: what is retried has them as they came", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    await bq.connect();
    bq.handle(URN, (_, ctx) => {
      const headers = ctx.headers as Record<string, string>;
      assert.equal(Reflect.set(headers, "tenant", "8"), false);
      assert.equal(Reflect.set(headers, "bq-replay-bypass", "1"), false);
      assert.equal(Reflect.deleteProperty(headers, "tenant"), false);
      headers.tenant = "8";
    });
    // Not frozen by the transport, as those of most clients are.
    const headers = Object.assign(Object.create(null), { tenant: "7" });
    const delivery = transport.put("shop", B0, { headers });
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.ok(
      seen.of("failed")[0]?.error instanceof TypeError,
      String(seen.of("failed")[0]?.error),
    );
    assert.equal(transport.settled[0]?.delivery, delivery);
    assert.deepEqual(Object.entries(delivery.headers), [["tenant", "7"]]);
  });
});

test("a broker's limit cuts a retry's delay, and that is told once a queue", async () => {
  const transport = new ScriptedTransport({}, {
    policy: { retryDelay: { kind: "native", maxMs: 5_000 } },
  });
  await withApp({ transport }, async ({ bq, clock, seen }) => {
    await bq.connect();
    bq.handle(URN, () => {
      throw new RetryAfterError(60_000);
    });
    for (const queue of ["shop", "video", "shop"]) {
      for (let n = 0; n < 2; n++) transport.put(queue);
      await ended(bq.consume({ queue, waitMs: 0 }), clock);
    }
    assert.deepEqual(seen.of("retried").map(({ delayMs }) => delayMs), Array(6).fill(5_000));
    const cuts = seen.of("warning").filter(({ code }) => code === "delay_cut");
    assert.deepEqual(cuts.map(({ subject }) => subject?.queue), ["shop", "video"]);
    for (const { message } of cuts) assert.match(message, /60000 ms/);
  });
});

test("a count past the cap when it comes is the last delivery, counted on", async () => {
  await withApp({ maxAttempts: 3, deadLetter: true }, async ({ bq, transport, clock }) => {
    const attempts: number[] = [];
    bq.handle(URN, (_, ctx) => {
      attempts.push(ctx.attempt);
      throw new Error("boom");
    });
    await inject(bq, "shop", envelope({ attempts: "7" }));
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(attempts, [8]);
    const { attempts: count, dead_letter } = parsed((await bodies(transport, "shop.dlq"))[0]);
    assert.deepEqual([count, (dead_letter as JsonObject).attempts], [8, 8]);
  });
});

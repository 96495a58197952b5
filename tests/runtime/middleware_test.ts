import assert from "node:assert/strict";
import type { HandlerContext } from "@bq/core";
import { test } from "../harness.ts";
import { ended, URN, withApp } from "./_app.ts";

test("middlewares wrap every handler, the first one outermost", async () => {
  await withApp({}, async ({ bq, clock }) => {
    const steps: string[] = [];
    for (const name of ["outer", "inner"]) {
      bq.use(async (ctx, next) => {
        steps.push(`${name} before ${ctx.urn}`);
        await next();
        steps.push(`${name} after`);
      });
    }
    for (const urn of ["urn:babel:a", "urn:babel:b"]) {
      bq.handle(urn, async () => {
        await clock.sleep(10);
        steps.push(`handler ${urn}`);
      });
      await bq.publish(urn, {});
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(steps.splice(0), [
        `outer before ${urn}`,
        `inner before ${urn}`,
        `handler ${urn}`,
        "inner after",
        "outer after",
      ]);
    }
  });
});

test("a middleware gets the context that the handler gets", async () => {
  await withApp({}, async ({ bq, clock }) => {
    const contexts: HandlerContext[] = [];
    bq.use((ctx, next) => {
      contexts.push(ctx);
      return next();
    });
    bq.handle(URN, (_, ctx) => void contexts.push(ctx));
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(contexts.length, 2);
    assert.equal(contexts[0], contexts[1]);
  });
});

test("a middleware that does not go on has handled the message", async () => {
  await withApp({}, async ({ bq, transport, seen, clock }) => {
    let handled = 0;
    bq.use(() => "not today");
    bq.use((_, next) => next());
    bq.handle(URN, () => void handled++);
    await bq.publish(URN, {});
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([counts.handled, handled, seen.of("handled").length], [1, 0, 1]);
    assert.deepEqual(await transport.size("shop"), { ready: 0, delayed: 0, inFlight: 0 });
  });
});

test("what a middleware throws, before or after, takes the failure route", async () => {
  for (const when of ["before", "after"]) {
    await withApp({ maxAttempts: 2 }, async ({ bq, seen, clock }) => {
      const failure = new Error(`thrown ${when}`);
      let handled = 0;
      bq.use(async (_, next) => {
        if (when === "before") throw failure;
        await next();
        throw failure;
      });
      bq.handle(URN, () => void handled++);
      await bq.publish(URN, {});
      const counts = await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual([counts.failed, counts.retried, counts.dropped], [2, 1, 1]);
      assert.equal(handled, when === "after" ? 2 : 0);
      assert.ok(seen.of("failed").every(({ error }) => error === failure));
    });
  }
});

test("a middleware sees what the handler throws, and may swallow or replace it", async () => {
  const thrown = new Error("from the handler");
  const other = new Error("from the middleware");
  for (const swallows of [true, false]) {
    await withApp({ maxAttempts: 1 }, async ({ bq, seen, clock }) => {
      const caught: unknown[] = [];
      bq.use(async (_, next) => {
        try {
          await next();
        } catch (error) {
          caught.push(error);
          if (!swallows) throw other;
        }
      });
      bq.handle(URN, () => {
        throw thrown;
      });
      await bq.publish(URN, {});
      const counts = await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(caught, [thrown]);
      assert.equal(counts.handled, swallows ? 1 : 0);
      assert.equal(seen.of("failed")[0]?.error, swallows ? undefined : other);
    });
  }
});

test("next() called twice by one middleware is an error, and the handler runs once", async () => {
  await withApp({ maxAttempts: 1 }, async ({ bq, seen, clock }) => {
    let handled = 0;
    bq.use(async (_, next) => {
      await next();
      await next();
    });
    bq.use((_, next) => next());
    bq.handle(URN, () => void handled++);
    await bq.publish(URN, {});
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([counts.failed, handled], [1, 1]);
    assert.match(String(seen.of("failed")[0]?.error), /next\(\) was called twice/);
  });
});

test("a middleware does not run for a message that meets no handler", async () => {
  await withApp({ onUnknownUrn: "delete" }, async ({ bq, clock }) => {
    let ran = 0;
    bq.use((_, next) => {
      ran++;
      return next();
    });
    await bq.publish(URN, {});
    await bq.publishRaw("shop", new TextEncoder().encode("not json"));
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).dropped, 2);
    assert.equal(ran, 0);
  });
});

test("a middleware added at work holds for messages received from then on", async () => {
  await withApp({}, async ({ bq, clock }) => {
    const steps: string[] = [];
    bq.handle(URN, ({ n }) => {
      steps.push(`handler ${n}`);
      if (n === 1) {
        bq.use((_, next) => {
          steps.push("added");
          return next();
        });
      }
    });
    bq.use((_, next) => next());
    for (const n of [1, 2]) await bq.publish(URN, { n });
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(steps, ["handler 1", "added", "handler 2"]);
  });
});

test("use() refuses what is no function", async () => {
  await withApp({}, async ({ bq }) => {
    for (const none of [undefined, null, {}, "log"]) {
      assert.throws(() => bq.use(none as never), {
        name: "BabelQueueError",
        code: "invalid_option",
        message: "Cannot add a middleware: it is no function",
      });
    }
    await bq.connect();
  });
});

test("next() that is called after its middleware ended runs no handler, and says so", async () => {
  await withApp({ deadLetter: true }, async ({ bq, clock, seen }) => {
    const calls: Promise<void>[] = [];
    let handled = 0;
    bq.use((_, next) => {
      void clock.sleep(50).then(() => calls.push(next()));
    });
    bq.handle(URN, () => void handled++);
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(transported(seen.events), ["handled"]);
    await clock.advance(100);
    await assert.rejects(calls[0]!, /^Error: next\(\) was called after its middleware had ended$/);
    assert.equal(handled, 0);
  });
});

test("a middleware that takes longer than the handler's time-out, or the worker's, starts no handler", async () => {
  for (const ends of ["time-out", "force"] as const) {
    await withApp({ deadLetter: true, maxAttempts: 1 }, async ({ bq, clock, seen }) => {
      const force = new AbortController();
      let handled = 0;
      bq.use(async (_, next) => {
        await clock.sleep(500);
        await next();
      });
      bq.handle(URN, () => void handled++, ends === "time-out" ? { timeoutMs: 100 } : {});
      await bq.publish(URN, {});
      const running = bq.run({ forceSignal: force.signal });
      await clock.advance(100);
      if (ends === "force") force.abort();
      await clock.advance(1_000);
      assert.equal(handled, 0);
      assert.equal(seen.of(ends === "force" ? "returned" : "deadLettered").length, 1);
      await ended(Promise.all([bq.stop(), running]), clock);
    });
  }
});

test("a middleware that is added while a message is inside others waits for the next one", async () => {
  await withApp({ deadLetter: true }, async ({ bq, clock }) => {
    const steps: string[] = [];
    bq.use(async (_, next) => {
      await clock.sleep(50);
      await next();
    });
    bq.handle(URN, () => void steps.push("handler"));
    await bq.publishMany([{ message: URN, data: {} }, { message: URN, data: {} }]);
    const working = bq.consume({ waitMs: 0 });
    await clock.advance(10);
    bq.use((_, next) => {
      steps.push("added");
      return next();
    });
    await ended(working, clock);
    assert.deepEqual(steps, ["handler", "added", "handler"]);
  });
});

/** The types of the events that tell what became of messages. */
function transported(events: readonly { readonly type: string }[]): string[] {
  return events.map(({ type }) => type).filter((type) =>
    !["connected", "started", "stopped"].includes(type)
  );
}

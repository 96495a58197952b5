import assert from "node:assert/strict";
import {
  BabelQueue,
  BabelQueueError,
  defineMessage,
  memory,
  type MessageDefinition,
  type StandardSchema,
} from "@bq/core";
import { test } from "../harness.ts";
import { ended, envelope, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

/** A schema that answers as told. */
function schema(answer: () => Promise<{ value: object }>): StandardSchema<object, object> {
  return { "~standard": { version: 1, vendor: "test", validate: answer } };
}

test("a publish whose schema never answers ends with its time-out, its signal and close()", async () => {
  const Silent = defineMessage(URN, schema(never));
  await withApp({}, async ({ bq, clock }) => {
    const refused = { code: "publish_failed" };
    const late = assert.rejects(bq.publish(Silent, {}, { timeoutMs: 100 }), refused);
    await clock.advance(100);
    await late;
    const abort = new AbortController();
    const cancelled = assert.rejects(bq.publish(Silent, {}, { signal: abort.signal }), refused);
    abort.abort();
    await cancelled;
    const closed = assert.rejects(bq.publishMany([{ message: Silent, data: {} }]), refused);
    await clock.advance(0);
    await ended(bq.close(), clock);
    await closed;
    await assert.rejects(bq.publish(Silent, {}), { code: "closed" });
  });
});

test("a definition without a URN is refused, whatever was published before", async () => {
  const broken = { schema: schema(() => Promise.resolve({ value: {} })) } as MessageDefinition;
  await withApp({}, async ({ bq, transport }) => {
    for (let round = 0; round < 2; round++) {
      await assert.rejects(bq.publish(broken, {}), { code: "invalid_envelope" });
      await bq.publish(URN, {});
    }
    assert.equal((await transport.size("shop")).ready, 2);
  });
});

test("a settle that rejects with something unprintable is reported, and the worker goes on", async () => {
  const transport = new ScriptedTransport({
    settle: () => Promise.reject(Object.create(null)),
  });
  await withApp({ transport, deadLetter: true }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => {});
    transport.put("shop");
    transport.put("shop");
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(counts.handled, 2);
    assert.deepEqual(seen.of("settleFailed").map(({ error }) => error instanceof Error), [
      true,
      true,
    ]);
  });
});

test("an open that throws at once leaves no timer behind", async () => {
  const transport = new ScriptedTransport({
    open: () => {
      throw new Error("no such host");
    },
  });
  await withApp({ transport }, async ({ bq, clock }) => {
    await assert.rejects(ended(bq.publish(URN, {}, { timeoutMs: 50 }), clock), /no such host/);
    await clock.advance(1_000);
    assert.equal(clock.pending, 0);
  });
});

test("a trace id that is undefined continues the handler's trace", async () => {
  await withApp({ deadLetter: true }, async ({ bq, clock }) => {
    const traces: string[] = [];
    bq.handle(URN, async (_, ctx) => {
      traces.push(ctx.traceId);
      if (traces.length < 2) await ctx.publish(URN, {}, { traceId: undefined as never });
    });
    await bq.publish(URN, {}, { traceId: "t-1" });
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(traces, ["t-1", "t-1"]);
  });
});

test("a middleware sees a message that fails its schema", async () => {
  await withApp({ deadLetter: true, maxAttempts: 1 }, async ({ bq, clock }) => {
    const seen: string[] = [];
    bq.use(async (ctx, next) => {
      await next().catch((error) => {
        seen.push(`${ctx.urn}: ${error.name}`);
        throw error;
      });
    });
    const strict = defineMessage(URN, {
      "~standard": {
        version: 1 as const,
        vendor: "test",
        validate: () => ({ issues: [{ message: "never right" }] }),
      },
    } as StandardSchema<object, object>);
    bq.handle(strict, () => {});
    await bq.publish(URN, {});
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).deadLettered, 1);
    assert.deepEqual(seen, [`${URN}: InvalidPayloadError`]);
  });
});

test("a middleware that does not wait for next() has no message acknowledged too early", async () => {
  await withApp({ deadLetter: true, maxAttempts: 1 }, async ({ bq, clock, seen }) => {
    bq.use((_, next) => void next());
    bq.handle(URN, async () => {
      await clock.sleep(50);
      throw new Error("no stock");
    });
    await bq.publish(URN, {});
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).deadLettered, 1);
    assert.equal(seen.of("handled").length, 0);
  });
});

test("publish and effect can be taken off the context", async () => {
  await withApp({ deadLetter: true }, async ({ bq, clock, transport }) => {
    bq.handle(URN, async (_, { publish, effect }) => {
      await effect(() => publish("urn:babel:audit:seen", {}, { queue: "audit" }));
    });
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal((await transport.size("audit")).ready, 1);
  });
});

test("a middleware that calls next() twice fails the message, and ends no process", async () => {
  await withApp({ deadLetter: true, maxAttempts: 1 }, async ({ bq, clock }) => {
    bq.use(async (_, next) => {
      await next();
      void next();
    });
    bq.handle(URN, () => {});
    await bq.publish(URN, {});
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).deadLettered, 1);
  });
});

test("a middleware that throws while next() runs has no second run beside it", async () => {
  await withApp({ deadLetter: true, maxAttempts: 2 }, async ({ bq, clock }) => {
    let [atOnce, most] = [0, 0];
    bq.use((_, next) => {
      void next();
      throw new Error("too early");
    });
    bq.handle(URN, async () => {
      most = Math.max(most, ++atOnce);
      await clock.sleep(50);
      atOnce--;
    });
    await bq.publish(URN, {});
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).deadLettered, 1);
    assert.equal(most, 1);
  });
});

test("a handler that throws what no instanceof can look at is counted like any other", async () => {
  await withApp({ deadLetter: true, maxAttempts: 3 }, async ({ bq, clock }) => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    bq.handle(URN, () => {
      throw proxy;
    });
    await bq.publish(URN, {});
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([counts.failed, counts.deadLettered], [3, 1]);
  });
});

test("a stop at once from inside a listener settles the message in hand once", async () => {
  for (const type of ["handled", "failed", "unknownUrn", "warning"] as const) {
    const transport = new ScriptedTransport();
    const force = new AbortController();
    const onEvent = (event: { type: string }): void => {
      if (event.type === type) force.abort();
    };
    await withApp({ transport, deadLetter: true, onEvent }, async ({ bq, clock }) => {
      let calls = 0;
      if (type !== "unknownUrn") {
        bq.handle(URN, () => {
          calls++;
          if (type === "failed") throw new Error("no stock");
        });
      }
      const body = type === "warning" ? envelope({ trace_id: null }) : undefined;
      const delivery = transport.put("shop", body);
      await ended(bq.run({ forceSignal: force.signal }), clock);
      const settles = transport.settled.filter((settle) => settle.delivery === delivery);
      assert.equal(settles.length, 1, type);
      assert.equal(calls, type === "warning" || type === "unknownUrn" ? 0 : 1, type);
    });
  }
});

test("a definition whose URN publishing would trim is refused", () => {
  for (const urn of [" x", "x\n", "\u000bx"]) {
    assert.throws(() => defineMessage(urn, schema(never)), { code: "invalid_option" });
  }
});

test("what is no transport is refused by the constructor", () => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [memory, /call it, for instance memory\(\)/],
    ["redis://localhost", /is no transport/],
    [undefined, /is no transport/],
  ];
  for (const [transport, message] of wrong) {
    assert.throws(() => new BabelQueue(transport as never), (error) => {
      assert.ok(error instanceof BabelQueueError);
      assert.equal(error.code, "invalid_option");
      assert.match(error.message, message);
      return true;
    });
  }
});

test("two Apps on one transport: the second one's work ends at once with the reason", async () => {
  await withApp({}, async ({ bq, transport }) => {
    await bq.connect();
    const second = new BabelQueue(transport, { queue: "other", onEvent: () => {} });
    second.handle(URN, () => {});
    await assert.rejects(second.consume({ waitMs: 0 }), /open already/);
    await assert.rejects(second.publish(URN, {}), /open already/);
    await second.close();
  });
});

import assert from "node:assert/strict";
import {
  BabelQueue,
  defineMessage,
  InvalidPayloadError,
  memory,
  type StandardIssue,
  type StandardResult,
  type StandardSchema,
} from "@bq/core";
import { z } from "zod";
import { test } from "../harness.ts";
import { bodies, ended, envelope, parsed, URN, withApp } from "./_app.ts";

/** A schema of any behaviour. */
function schema<Input, Output>(
  validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>,
): StandardSchema<Input, Output> {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

const Order = defineMessage(
  URN,
  z.object({ id: z.string().transform(Number), currency: z.string().default("EUR") }),
);

test("defineMessage() refuses a blank URN and what is no Standard Schema", () => {
  const refusal = { name: "BabelQueueError", code: "invalid_option" };
  for (const urn of ["", " \t", undefined, 7]) {
    assert.throws(() => defineMessage(urn as string, z.object({})), refusal);
  }
  for (const none of [undefined, null, {}, { "~standard": {} }, { parse: () => {} }, "string"]) {
    assert.throws(() => defineMessage(URN, none as never), {
      ...refusal,
      message: `Cannot define message '${URN}': the schema is not a Standard Schema`,
    });
  }
});

test("a definition cannot be changed", () => {
  assert.ok(Object.isFrozen(Order));
  assert.deepEqual(Object.keys(Order), ["urn", "schema"]);
});

test("what is published is the schema's input as given; a handler gets its output", async () => {
  await withApp({}, async ({ bq, transport, clock }) => {
    const seen: unknown[] = [];
    bq.handle(Order, (order, ctx) => void seen.push([order, ctx.envelope.data]));
    await bq.publish(Order, { id: "1042" });
    const [body] = await bodies(transport, "shop");
    assert.deepEqual(parsed(body).data, { id: "1042" });
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, [[{ id: 1042, currency: "EUR" }, { id: "1042" }]]);
  });
});

test("publish() refuses data that the schema refuses, and sends nothing", async () => {
  await withApp({}, async ({ bq, transport }) => {
    await bq.connect();
    await assert.rejects(bq.publish(Order, { id: 7 } as never), (error) => {
      assert.ok(error instanceof InvalidPayloadError);
      assert.deepEqual([error.code, error.urn], ["invalid_payload", URN]);
      assert.match(error.violation, /^id: .*string/);
      assert.equal(error.message, `Cannot accept data of '${URN}': ${error.violation}`);
      return true;
    });
    assert.deepEqual(await bodies(transport, "shop"), []);
  });
});

test("a message whose data the schema refuses takes the failure route, unhandled", async () => {
  await withApp({ maxAttempts: 2, deadLetter: true }, async ({ bq, transport, seen, clock }) => {
    let handled = 0;
    bq.handle(Order, () => void handled++);
    await bq.publish(URN, { id: 7 });
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(counts, { handled: 0, failed: 2, retried: 1, deadLettered: 1, dropped: 0 });
    assert.equal(handled, 0);
    assert.ok(seen.of("failed").every(({ error }) => error instanceof InvalidPayloadError));
    const [record] = await bodies(transport, "shop.dlq");
    const block = parsed(record).dead_letter as Record<string, unknown>;
    assert.deepEqual([block.reason, block.exception], ["failed", "InvalidPayloadError"]);
    assert.match(String(block.error), /^Cannot accept data of '.*': id: /);
  });
});

test("a schema may take its time on both sides", async () => {
  await withApp({}, async ({ bq, clock }) => {
    const asked: unknown[] = [];
    const Slow = defineMessage(
      URN,
      schema<{ n: number }, { n: number; at: number }>(async (value) => {
        asked.push(value);
        await clock.sleep(50);
        const { n } = value as { n: number };
        return n > 0 ? { value: { n, at: clock.now() } } : { issues: [{ message: "too small" }] };
      }),
    );
    const seen: unknown[] = [];
    bq.handle(Slow, (data) => void seen.push(data));
    const from = clock.now();
    await ended(bq.publish(Slow, { n: 1 }), clock);
    await assert.rejects(ended(bq.publish(Slow, { n: 0 }), clock), {
      violation: "<root>: too small",
    });
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(asked.length, 3);
    assert.equal(seen.length, 1);
    assert.ok((seen[0] as { at: number }).at > from);
  });
});

test("a refusal names the first place, however its path is spelled", async () => {
  const rows: readonly [issues: StandardIssue[], violation: string][] = [
    [[{ message: "bad", path: ["items", 0, "sku"] }], "items.0.sku: bad"],
    [[{ message: "bad", path: [{ key: "items" }, { key: 1 }] }], "items.1: bad"],
    [[{ message: "bad", path: [Symbol("s")] }], "Symbol(s): bad"],
    [[{ message: "bad", path: [] }], "<root>: bad"],
    [[{ message: "first" }, { message: "second" }], "<root>: first"],
    [[], "<root>: invalid"],
  ];
  await withApp({}, async ({ bq }) => {
    for (const [issues, violation] of rows) {
      const Never = defineMessage(URN, schema(() => ({ issues })));
      await assert.rejects(bq.publish(Never, {}), { name: "InvalidPayloadError", violation });
    }
  });
});

test("a schema that throws fails the publish, and on the other side the message", async () => {
  const broken = new Error("schema is broken");
  for (
    const validate of [() => Promise.reject(broken), () => {
      throw broken;
    }]
  ) {
    const Broken = defineMessage(URN, schema(validate));
    await withApp({ maxAttempts: 1 }, async ({ bq, seen, clock }) => {
      bq.handle(Broken, () => {});
      await assert.rejects(bq.publish(Broken, {}), (error) => error === broken);
      await bq.publish(URN, {});
      assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).failed, 1);
      assert.equal(seen.of("failed")[0]?.error, broken);
    });
  }
});

test("a schema that gives undefined gives its handler undefined", async () => {
  const Void = defineMessage(URN, schema<object, undefined>(() => ({ value: undefined })));
  await withApp({}, async ({ bq, clock }) => {
    const seen: unknown[] = [];
    bq.handle(Void, (data) => void seen.push(data));
    await bq.publish(Void, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, [undefined]);
  });
});

test("a handler of a definition that asks for bigint gets exact integers to its schema", async () => {
  const Entry = defineMessage(URN, z.object({ amount: z.bigint() }));
  await withApp({}, async ({ bq, clock }) => {
    const seen: bigint[] = [];
    bq.handle(Entry, ({ amount }) => void seen.push(amount), { bigint: true });
    await bq.publish(Entry, { amount: 9007199254740993n });
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, [9007199254740993n]);
  });
});

test("a definition is handled by its URN, whoever published the message", async () => {
  await withApp({}, async ({ bq, clock }) => {
    const seen: unknown[] = [];
    bq.handle(Order, (order) => void seen.push(order.id));
    await bq.publishRaw("shop", new TextEncoder().encode(envelope({ data: '{"id":"7"}' })));
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, [7]);
  });
});

test("a schema whose answer is none has not agreed, and its oddest path is printed", async () => {
  const rows: readonly (readonly [answer: unknown, violation: string])[] = [
    [null, "<root>: invalid"],
    [undefined, "<root>: invalid"],
    [{ issues: null }, "<root>: invalid"],
    [{ issues: [] }, "<root>: invalid"],
    [{ issues: [null] }, "<root>: invalid"],
    [{ issues: [{ message: "odd", path: [null, "b", { key: "c" }] }] }, "undefined.b.c: odd"],
  ];
  const bq = new BabelQueue(memory());
  for (const [answer, violation] of rows) {
    const schema = { "~standard": { version: 1, vendor: "test", validate: () => answer } };
    const Odd = defineMessage("urn:babel:a:odd", schema as never);
    await assert.rejects(bq.publish(Odd, {}), { code: "invalid_payload", violation });
  }
  await bq.close();
});

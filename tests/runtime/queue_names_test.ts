import assert from "node:assert/strict";
import type { BabelQueueOptions } from "@bq/core";
import { inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, bodies, ended, envelope, META, parsed, URN, withApp } from "./_app.ts";

// B0 says `billing` in its meta.queue; every test here receives it from `shop`.

/** Dead-letters one body from `shop` and gives its `dead_letter` member. */
async function block(body: string, options: BabelQueueOptions = {}): Promise<unknown> {
  let found: unknown;
  await withApp(
    { queue: "home", maxAttempts: 1, deadLetter: true, ...options },
    async ({ bq, transport, clock }) => {
      bq.handle(URN, () => {
        throw new Error("boom");
      });
      await inject(bq, "shop", body);
      const counts = await ended(bq.consume({ queue: "shop", waitMs: 0 }), clock);
      assert.equal(counts.deadLettered, 1);
      const records = await bodies(transport, "shop.dlq");
      assert.equal(records.length, 1);
      assert.equal((await bodies(transport, "billing.dlq")).length, 0);
      found = parsed(records[0]).dead_letter;
    },
  );
  return found;
}

test("a record names the queue in the message's meta, and lies beside the queue received from", async () => {
  const of = async (body: string, options?: BabelQueueOptions): Promise<unknown[]> => {
    const { reason, original_queue } = await block(body, options) as Record<string, unknown>;
    return [reason, original_queue];
  };
  const unknown = envelope({ job: '"urn:babel:unknown"' });
  assert.deepEqual(await of(B0), ["failed", "billing"]);
  assert.deepEqual(await of(unknown), ["unknown_urn", "billing"]);
  assert.deepEqual(await of(unknown, { onUnknownUrn: "dead_letter" }), ["unknown_urn", "billing"]);
  // Nothing in a body that is refused is believed.
  assert.deepEqual(await of(envelope({ data: "[]" })), ["poison", "shop"]);
});

test("a record names the queue received from where the message names none", async () => {
  for (const queue of ['""', '" \\t"', "null"]) {
    const meta = META.replace('"billing"', queue);
    const { original_queue } = await block(envelope({ meta })) as Record<string, unknown>;
    assert.equal(original_queue, "shop", queue);
  }
});

test("events, the context and a handler's queue name the queue received from", async () => {
  await withApp({ queue: "home" }, async ({ bq, clock, seen }) => {
    const met: string[] = [];
    bq.handle(URN, (_, ctx) => void met.push(`shop ${ctx.queue}`), { queue: "shop" });
    bq.handle(URN, (_, ctx) => void met.push(`billing ${ctx.queue}`), { queue: "billing" });
    await inject(bq, "shop", B0);
    await ended(bq.consume({ queue: "shop", waitMs: 0 }), clock);
    assert.deepEqual(met, ["shop shop"]);
    assert.deepEqual(seen.of("handled").map(({ queue }) => queue), ["shop"]);
  });
});

test("a handler bound to the queue in meta does not meet a message from another one", async () => {
  await withApp({ onUnknownUrn: "delete" }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => assert.fail("it met the handler of 'billing'"), { queue: "billing" });
    await inject(bq, "shop", B0);
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen.of("unknownUrn").map(({ queue }) => queue), ["shop"]);
  });
});

test("ctx.publish() without a queue goes to the App's own, wherever the message came from", async () => {
  await withApp({ queue: "home" }, async ({ bq, transport, clock }) => {
    bq.handle(URN, (_, ctx) => ctx.publish("urn:babel:next", {}));
    await inject(bq, "shop", B0);
    await ended(bq.consume({ queue: "shop", waitMs: 0 }), clock);
    const [next] = await bodies(transport, "home");
    assert.equal((parsed(next).meta as { queue: string }).queue, "home");
    for (const queue of ["shop", "billing"]) {
      assert.deepEqual(await bodies(transport, queue), [], queue);
    }
  });
});

test("a retry goes back to the queue received from, its meta untouched", async () => {
  await withApp({ queue: "home", maxAttempts: 2 }, async ({ bq, transport, clock }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    await inject(bq, "shop", B0);
    await ended(bq.consume({ queue: "shop", maxMessages: 1, waitMs: 0 }), clock);
    assert.deepEqual(await bodies(transport, "shop"), [envelope({ attempts: "1" })]);
  });
});

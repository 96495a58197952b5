import assert from "node:assert/strict";
import { defineMessage, PublishManyError, type PublishOutcome } from "@bq/core";
import { z } from "zod";
import { test } from "../harness.ts";
import { bodies, ended, NOW_MS, parsed, text, URN, withApp } from "./_app.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

const item = (n: number, queue?: string) => ({
  message: URN,
  data: { n },
  ...(queue === undefined ? {} : { queue }),
});

test("publishMany() keeps the order within a queue and gives the ids in the order given", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    const ids = await bq.publishMany([
      item(0),
      item(1, "video"),
      item(2),
      item(3, "video"),
      item(4, "shop"),
    ]);
    const sent = transport.published.map(({ queue, messages }) =>
      [
        queue,
        messages.map(({ body }) => parsed(text(body))),
      ] as const
    );
    assert.deepEqual(
      sent.map(([queue, all]) => [queue, all.map(({ data }) => (data as { n: number }).n)]),
      [["shop", [0, 2, 4]], ["video", [1, 3]]],
    );
    const byId = sent.flatMap(([, all]) => all.map(({ meta, data }) => [meta, data] as const));
    for (const [meta, data] of byId) {
      assert.equal((meta as { id: string }).id, ids[(data as { n: number }).n]);
    }
    assert.equal(new Set(ids).size, 5);
  });
});

test("publishMany() takes each message's own options, and definitions beside URNs", async () => {
  const Order = defineMessage("urn:babel:orders:paid", z.object({ id: z.number() }));
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    await bq.publishMany<object>([
      { message: URN, data: {}, delayMs: 5, key: "k", headers: { a: "1" }, traceId: "t" },
      { message: Order, data: { id: 7 }, meta: { ext: { a: 1 } } },
    ]);
    const [first, second] = transport.published[0]!.messages;
    assert.deepEqual([first?.delayMs, first?.key, first?.headers?.a], [5, "k", "1"]);
    assert.equal(parsed(text(first!.body)).trace_id, "t");
    assert.deepEqual(Object.keys(second!), ["body", "canonical"]);
    const { job, data, meta } = parsed(text(second!.body));
    assert.deepEqual([job, data], ["urn:babel:orders:paid", { id: 7 }]);
    assert.deepEqual((meta as { ext: unknown }).ext, { a: 1 });
  });
});

test("publishMany() of nothing does nothing", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    assert.deepEqual(await bq.publishMany([]), []);
    assert.deepEqual([transport.opens, transport.published.length], [0, 0]);
  });
});

test("publishMany() sends nothing when one message is not valid", async () => {
  const Order = defineMessage(URN, z.object({ id: z.number() }));
  const invalid: readonly [bad: object, code: string][] = [
    [{ message: URN, data: { n: NaN } }, "invalid_data"],
    [{ message: " ", data: {} }, "invalid_envelope"],
    [{ data: {} }, "invalid_envelope"],
    [{ message: URN, data: {}, delayMs: 60_001 }, "unsupported"],
    [{ message: URN, data: {}, queue: "" }, "invalid_option"],
    [{ message: URN, data: {}, meta: { id: "x" } }, "envelope_key"],
    [{ message: Order, data: { id: "seven" } }, "invalid_payload"],
  ];
  const capabilities = { publishDelay: { kind: "native", maxMs: 60_000 } } as const;
  const transport = new ScriptedTransport({}, { capabilities });
  await withApp({ transport }, async ({ bq }) => {
    for (const [bad, code] of invalid) {
      for (const items of [[item(0), bad], [bad, item(0)], [item(0), bad, item(1, "video")]]) {
        await assert.rejects(bq.publishMany(items as never), { code });
      }
    }
    assert.deepEqual([transport.opens, transport.published.length], [0, 0]);
  });
});

test("publishMany() throws one error that says what became of each message", async () => {
  const full = new Error("queue full");
  const cut = new Error("connection cut");
  const answers: Record<string, () => Promise<readonly PublishOutcome[]>> = {
    shop: () =>
      Promise.resolve([
        { status: "confirmed" },
        { status: "failed", error: full },
        { status: "uncertain", error: cut },
      ]),
    short: () => Promise.resolve([{ status: "confirmed" }]),
    broken: () => Promise.reject(full),
    fine: () => Promise.resolve([{ status: "confirmed" }]),
  };
  const transport = new ScriptedTransport({ publish: (queue) => answers[queue]!() });
  await withApp({ transport }, async ({ bq }) => {
    const queues = ["shop", "short", "shop", "broken", "short", "shop", "fine"];
    const publishing = bq.publishMany(queues.map((queue, n) => item(n, queue)));
    await assert.rejects(publishing, (error) => {
      assert.ok(error instanceof PublishManyError);
      assert.deepEqual(error.results.map(({ status }) => status), [
        "confirmed",
        "confirmed",
        "failed",
        "failed",
        "uncertain",
        "uncertain",
        "confirmed",
      ]);
      const errors = error.results.map((result) => "error" in result ? result.error.message : null);
      assert.deepEqual(errors[2], "queue full");
      assert.deepEqual(errors[3], "Cannot publish to 'broken': queue full");
      assert.match(errors[4]!, /'short': the transport gave no outcome/);
      assert.deepEqual(errors[5], "connection cut");
      const sent = transport.published.flatMap(({ messages }) =>
        messages.map(({ body }) => (parsed(text(body)).meta as { id: string }).id)
      );
      assert.deepEqual(error.results.map(({ id }) => id).sort(), sent.sort());
      assert.match(error.message, /^Cannot publish 4 of 7 messages; the first error: queue full$/);
      assert.deepEqual([error.code, error.cause], ["publish_failed", full]);
      return true;
    });
  });
});

test("publishMany() has one deadline for the whole", async () => {
  const transport = new ScriptedTransport({
    publish: (queue) => queue === "slow" ? never() : undefined,
  });
  await withApp({ transport }, async ({ bq, clock }) => {
    const publishing = bq.publishMany([item(0, "slow"), item(1, "video")], { timeoutMs: 2_000 });
    const outcome = assert.rejects(publishing, (error) => {
      assert.ok(error instanceof PublishManyError);
      assert.deepEqual(error.results.map(({ status }) => status), ["uncertain", "confirmed"]);
      assert.equal(clock.now(), NOW_MS + 2_000);
      return true;
    });
    await clock.advance(3_000);
    await outcome;
  });
});

test("publishMany() puts hundreds of messages on memory in their order", async () => {
  await withApp({}, async ({ bq, transport, clock }) => {
    const ids = await bq.publishMany(Array.from({ length: 300 }, (_, n) => item(n)));
    assert.equal(new Set(ids).size, 300);
    const seen: unknown[] = [];
    bq.handle(URN, ({ n }) => void seen.push(n));
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, Array.from({ length: 300 }, (_, n) => n));
    assert.deepEqual(await bodies(transport, "shop"), []);
  });
});

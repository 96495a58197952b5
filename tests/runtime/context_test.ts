import assert from "node:assert/strict";
import { defineMessage, type HandlerContext, type JsonObject } from "@bq/core";
import { inject, type InjectOptions } from "@bq/core/testing";
import { z } from "zod";
import { test } from "../harness.ts";
import {
  B0,
  type Bench,
  bodies,
  ended,
  envelope,
  META,
  parsed,
  text,
  URN,
  withApp,
} from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Hands one message to `look` while its handler runs. */
async function inHandler(
  body: string,
  look: (ctx: HandlerContext, data: JsonObject, bench: Bench) => unknown,
  options: InjectOptions = {},
): Promise<void> {
  await withApp({ maxAttempts: 1 }, async (bench) => {
    const { bq, clock, seen } = bench;
    bq.handle(URN, (data, ctx) => look(ctx, data, bench));
    await inject(bq, "shop", body, options);
    await ended(bq.consume({ waitMs: 0, maxMessages: 1 }), clock);
    const [failed] = seen.of("failed");
    if (failed) throw failed.error;
    assert.equal(seen.of("handled").length, 1);
  });
}

test("a handler is told what the message says", async () => {
  await inHandler(B0, (ctx, data) => {
    assert.deepEqual(data, { order_id: 1042 });
    assert.equal(ctx.urn, URN);
    assert.equal(ctx.queue, "shop");
    assert.equal(ctx.messageId, "6f1c2a3e-0000-4000-8000-000000000001");
    assert.equal(ctx.traceId, "7b3d0000-0000-4000-8000-000000000002");
    assert.equal(ctx.attempt, 1);
    assert.equal(ctx.replay, false);
    assert.equal(ctx.signal.aborted, false);
    assert.equal(ctx.signal, ctx.signal);
    assert.deepEqual(ctx.envelope, JSON.parse(B0));
    assert.equal(ctx.envelope, ctx.envelope);
    assert.equal(ctx.envelope.data, data);
  });
});

test("ctx.attempt counts from 1, the envelope keeps the number in the bytes", async () => {
  const rows: readonly [literal: string | null, counting: object, attempt: number, own: number][] =
    [
      ["0", {}, 1, 0],
      ["2", {}, 3, 2],
      ["-5", {}, 1, -5],
      [null, {}, 1, 0],
      ["0", { floor: 4 }, 5, 0],
      ["6", { floor: 4 }, 7, 6],
      ["9", { replaces: 1 }, 2, 9],
      ["9", { replaces: 1, floor: 3 }, 4, 9],
      ["9007199254740991", {}, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ];
  for (const [literal, counting, attempt, own] of rows) {
    const transport = new ScriptedTransport();
    await withApp({ transport }, async ({ bq, clock, seen }) => {
      await bq.connect();
      const got: unknown[] = [];
      bq.handle(URN, (_, ctx) => void got.push(ctx.attempt, ctx.envelope.attempts));
      transport.put("shop", envelope({ attempts: literal }), { counting });
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(got, [attempt, own], JSON.stringify([literal, counting]));
      assert.equal(seen.of("handled")[0]?.attempt, attempt);
    });
  }
});

test("ctx.envelope keeps unknown members, folds urn into job and has no forbidden ones", async () => {
  const meta = META.replace("}", ',"ts":5,"max_retries":3,"vendor":{"a":1}}');
  const body = envelope({ job: null, urn: `"${URN}"`, meta, extra: '"kept"', timestamp: "5" });
  await inHandler(body, (ctx) => {
    const { job, urn, extra, timestamp, meta } = ctx.envelope as unknown as JsonObject;
    assert.deepEqual([job, urn, extra, timestamp], [URN, undefined, "kept", undefined]);
    assert.deepEqual(meta, { ...JSON.parse(META), vendor: { a: 1 } });
  });
});

test("ctx.envelope fills in what an incomplete message lacks", async () => {
  await inHandler(`{"job":"${URN}"}`, (ctx, data) => {
    assert.equal(data, null);
    assert.equal(ctx.messageId, "");
    assert.deepEqual(ctx.envelope, {
      job: URN,
      trace_id: ctx.traceId,
      data: null,
      meta: {},
      attempts: 0,
    });
  });
});

test("ctx.traceId is a fresh one when the message has none, the same throughout one delivery", async () => {
  const ids = new Set<string>();
  for (const trace_id of [null, '""', '" \\t"', "null"]) {
    await inHandler(envelope({ trace_id }), (ctx) => {
      assert.match(ctx.traceId, UUID, String(trace_id));
      assert.deepEqual([ctx.traceId, ctx.envelope.trace_id], [ctx.traceId, ctx.traceId]);
      ids.add(ctx.traceId);
    });
  }
  assert.equal(ids.size, 4);
});

test("ctx.headers are the foreign headers, without a prototype", async () => {
  const headers = { tenant: "7", traceparent: "00-abc", constructor: "mine" };
  await inHandler(B0, (ctx) => {
    assert.equal(Object.getPrototypeOf(ctx.headers), null);
    assert.deepEqual({ ...ctx.headers }, headers);
    assert.equal(ctx.headers["toString"], undefined);
    assert.equal("hasOwnProperty" in ctx.headers, false);
  }, { headers });
  await inHandler(B0, (ctx) => {
    assert.equal(Object.getPrototypeOf(ctx.headers), null);
    assert.deepEqual(Object.keys(ctx.headers), []);
  });
});

test("ctx.effect() runs the effect and gives what it gives, unless the message is a replay", async () => {
  const rows: readonly [headers: Record<string, string>, replay: boolean][] = [
    [{}, false],
    [{ "bq-replay-bypass": "1" }, true],
    [{ "bq-replay-bypass": "0" }, true],
    [{ "bq-replay-bypass": "false" }, true],
    [{ "bq-replay-bypass": "" }, false],
    [{ "BQ-Replay-Bypass": "1" }, false],
  ];
  for (const [headers, replay] of rows) {
    let ran = 0;
    await inHandler(B0, async (ctx) => {
      assert.equal(ctx.replay, replay, JSON.stringify(headers));
      assert.equal(await ctx.effect(() => ++ran), replay ? undefined : 1);
      assert.equal(await ctx.effect(() => Promise.resolve(++ran)), replay ? undefined : 2);
      const failure = new Error("mail server down");
      const failing = ctx.effect(() => {
        throw failure;
      });
      if (replay) assert.equal(await failing, undefined);
      else await assert.rejects(failing, (error) => error === failure);
    }, { headers });
    assert.equal(ran, replay ? 0 : 2);
  }
});

test("ctx.publish() continues the trace, with an id of its own, and carries no header on", async () => {
  const headers = { "bq-replay-bypass": "1", traceparent: "00-abc", tenant: "7" };
  await inHandler(B0, async (ctx, _, { transport }) => {
    const id = await ctx.publish("urn:babel:orders:paid", { n: 1 });
    await ctx.publish("urn:babel:orders:paid", {}, {
      queue: "video",
      traceId: "another",
      headers: { tenant: "8" },
      delayMs: 5,
    });
    const [next] = await bodies(transport, "shop");
    const { trace_id, meta } = parsed(next);
    assert.equal(trace_id, ctx.traceId);
    assert.equal((meta as JsonObject).id, id);
    assert.notEqual(id, ctx.messageId);
    const sent = [];
    for (const queue of ["shop", "video"]) {
      sent.push(...await Array.fromAsync(transport.peek(queue)));
    }
    const [plain, mine, other] = sent;
    assert.deepEqual({ ...mine?.headers }, headers);
    assert.deepEqual({ ...plain?.headers }, {});
    assert.deepEqual({ ...other?.headers }, { tenant: "8" });
    assert.equal(other?.state, "delayed");
    assert.equal(parsed(text(other.body)).trace_id, "another");
  }, { headers });
});

test("ctx.publish() continues a fresh trace where the message has none", async () => {
  await inHandler(envelope({ trace_id: null }), async (ctx, _, { transport }) => {
    await ctx.publish("urn:babel:orders:paid", {}, { queue: "video" });
    assert.equal(parsed((await bodies(transport, "video"))[0]).trace_id, ctx.traceId);
  });
});

test("ctx.publish() takes definitions, refuses bad data, and its failure is the handler's", async () => {
  const Paid = defineMessage("urn:babel:orders:paid", z.object({ id: z.number() }));
  await inHandler(B0, async (ctx, _, { transport }) => {
    await assert.rejects(ctx.publish(Paid, { id: "seven" } as never), { code: "invalid_payload" });
    await ctx.publish(Paid, { id: 7 });
    assert.equal((await bodies(transport, "shop")).length, 2);
  });
  await withApp({ maxAttempts: 1 }, async ({ bq, clock, seen }) => {
    bq.handle(URN, (_, ctx) => ctx.publish("", {}));
    await inject(bq, "shop", B0);
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).failed, 1);
    assert.equal((seen.of("failed")[0]?.error as { code: string }).code, "invalid_envelope");
  });
});

test("a message published inside a handler, to its own queue, is handled in its turn", async () => {
  await withApp({}, async ({ bq, clock }) => {
    const order: unknown[] = [];
    bq.handle(URN, async ({ n }, ctx) => {
      order.push(n);
      if (Number(n) < 5) await ctx.publish(URN, { n: Number(n) + 1 });
    });
    await bq.publish(URN, { n: 0 });
    assert.equal((await ended(bq.consume({ waitMs: 0 }), clock)).handled, 6);
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
  });
});

import assert from "node:assert/strict";
import { defineMessage, type Outgoing, type StandardSchema } from "@bq/core";
import { test } from "../harness.ts";
import { type Bench, ended, gate, parsed, text, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

const OTHER = "urn:babel:orders:changed";

/** A schema that agrees, or does not, when it is told to. */
function schema(opened: Promise<void>, issue?: string): StandardSchema<object, object> {
  const validate = async (value: unknown) => {
    await opened;
    return issue === undefined ? { value: value as object } : { issues: [{ message: issue }] };
  };
  return { "~standard": { version: 1, vendor: "test", validate } };
}

/** What was published while the connection opened late. */
async function published(
  work: (bench: Bench<ScriptedTransport>) => Promise<unknown>,
): Promise<readonly Outgoing[]> {
  const transport = new ScriptedTransport();
  const opening = gate();
  transport.script.open = () => opening.opened;
  await withApp({ transport }, async (bench) => {
    const publishing = work(bench);
    await bench.clock.advance(0);
    opening.open();
    await ended(publishing, bench.clock);
  });
  return transport.published.flatMap(({ messages }) => messages);
}

test("publishMany() publishes what it was given, whatever becomes of the array and its items", async () => {
  const Checked = defineMessage(OTHER, schema(Promise.resolve()));
  for (const message of [URN, Checked]) {
    const sent = await published(({ bq }) => {
      const items = [0, 1, 2].map((n) => ({ message, data: { n }, delayMs: n * 1_000 }));
      const publishing = bq.publishMany(items);
      for (const item of items) Object.assign(item, { delayMs: -5, message: undefined, data: {} });
      items.length = 0;
      return publishing;
    });
    const seen = sent.map(({ body, delayMs = 0 }) => [parsed(text(body))["data"], delayMs]);
    assert.deepEqual(seen, [[{ n: 0 }, 0], [{ n: 1 }, 1_000], [{ n: 2 }, 2_000]]);
  }
});

test("a publish takes the data as they are in the call, with a schema that answers late too", async () => {
  const agreed = gate();
  const Late = defineMessage(URN, schema(agreed.opened));
  const sent = await published(({ bq }) => {
    const order = { n: 0 };
    const key = new Uint8Array([1]);
    const headers = { tenant: "7" };
    const calls = [
      bq.publish(URN, order, { key, headers }),
      bq.publish(Late, order, { key, headers }),
      bq.publishMany([{ message: Late, data: order, key, headers }]),
    ];
    order.n = 99;
    key[0] = 99;
    headers.tenant = "99";
    agreed.open();
    return Promise.all(calls);
  });
  assert.equal(sent.length, 3);
  for (const { body, key, headers } of sent) {
    assert.deepEqual(parsed(text(body))["data"], { n: 0 });
    assert.deepEqual([key, { ...headers }], [new Uint8Array([1]), { tenant: "7" }]);
  }
});

test("publishRaw() takes the bytes as they are in the call, of a subclass of Uint8Array too", async () => {
  // As Node's Buffer does, whose slice shares the memory.
  class Shared extends Uint8Array<ArrayBuffer> {
    override slice(): Uint8Array<ArrayBuffer> {
      return this.subarray();
    }
  }
  for (const Bytes of [Uint8Array, Shared]) {
    const sent = await published(({ bq }) => {
      const body = Bytes.from([104, 105]);
      const publishing = bq.publishRaw("shop", body);
      body.fill(0);
      return publishing;
    });
    assert.deepEqual(sent.map(({ body }) => text(body)), ["hi"]);
  }
});

test("what the schema says comes before what the codec says, and nothing is sent", async () => {
  const Refusing = defineMessage(URN, schema(Promise.resolve(), "not today"));
  const Agreeing = defineMessage(URN, schema(Promise.resolve()));
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    await assert.rejects(bq.publish(Refusing, loop), { code: "invalid_payload" });
    await assert.rejects(bq.publish(Agreeing, loop), { code: "invalid_data" });
    const items = [{ message: Agreeing, data: {} }, { message: Refusing, data: loop }];
    await assert.rejects(bq.publishMany(items), { code: "invalid_payload" });
  });
  assert.deepEqual(transport.published, []);
});

test("publishMany() rejects with the first message that is not valid", async () => {
  const late = gate();
  const First = defineMessage(URN, schema(late.opened, "first"));
  const Second = defineMessage(OTHER, schema(Promise.resolve(), "second"));
  await withApp({}, async ({ bq, clock }) => {
    const publishing = bq.publishMany([First, Second].map((message) => ({ message, data: {} })));
    const rejected = assert.rejects(publishing, /: <root>: first$/);
    await clock.advance(0);
    late.open();
    await rejected;
  });
});

test("publishMany() refuses what is no array of messages", async () => {
  await withApp({}, async ({ bq }) => {
    for (const items of [null, {}, "ab", 5, undefined]) {
      await assert.rejects(bq.publishMany(items as never), {
        code: "invalid_option",
        message: /^Cannot set option 'items' to .*: it must be an array$/,
      });
    }
    await assert.rejects(bq.publishMany([, { message: URN, data: {} }] as never), {
      code: "invalid_option",
      message: /'items\[0\]'/,
    });
  });
});

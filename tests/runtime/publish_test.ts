import assert from "node:assert/strict";
import {
  BabelQueueError,
  type Capabilities,
  ConnectionError,
  EnvelopeKeyError,
  type Outgoing,
  type PublishOutcome,
  PublishUncertainError,
} from "@bq/core";
import { test } from "../harness.ts";
import { bodies, NOW_MS, parsed, text, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The only message that was published. */
function sent({ published }: ScriptedTransport): Outgoing {
  assert.equal(published.length, 1);
  assert.equal(published[0]!.messages.length, 1);
  return published[0]!.messages[0]!;
}

test("publish() gives meta.id of a canonical envelope that names its queue", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    const id = await bq.publish(` ${URN}\t`, { order_id: 1042, note: "größe" }, {
      queue: "video",
      traceId: "\n chain-1 ",
    });
    assert.match(id, UUID);
    assert.equal(transport.published[0]?.queue, "video");
    assert.equal(
      text(sent(transport).body),
      `{"job":"${URN}","trace_id":"chain-1","data":{"order_id":1042,"note":"größe"},"meta":{` +
        `"id":"${id}","queue":"video","lang":"node","schema_version":1,"created_at":${NOW_MS}},` +
        `"attempts":0}`,
    );
  });
});

test("publishes on an open connection reach the transport in the call itself, in their order", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    await bq.connect();
    const publishing = [
      bq.publish(URN, {}, { queue: "a" }),
      bq.publishRaw("b", new Uint8Array([1])),
      bq.publishMany([{ message: URN, data: {}, queue: "c" }]),
    ];
    assert.deepEqual(transport.published.map(({ queue }) => queue), ["a", "b", "c"]);
    await Promise.all(publishing);
  });
});

test("publish() gives every message an id of its own, and a blank trace a new one", async () => {
  await withApp({}, async ({ bq, transport }) => {
    const ids = [];
    for (const traceId of ["", " \t"]) ids.push(await bq.publish(URN, {}, { traceId }));
    const sent = (await bodies(transport, "shop")).map(parsed);
    assert.equal(new Set(ids).size, 2);
    for (const { trace_id } of sent) assert.match(String(trace_id), UUID);
  });
});

test("publish() puts extension members into meta and refuses those of the contract", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    await bq.publish(URN, {}, { meta: { ext: { acme: { tenant: 7n } } } });
    assert.ok(text(sent(transport).body).includes(',"ext":{"acme":{"tenant":7}}},"attempts":0}'));
    for (const [name, pointer] of [["id", "/meta/id"], ["ts", "/meta/ts"]] as const) {
      await assert.rejects(bq.publish(URN, {}, { meta: { [name]: 1 } }), (error) => {
        assert.ok(error instanceof EnvelopeKeyError);
        assert.equal(error.pointer, pointer);
        return true;
      });
    }
    assert.equal(transport.published.length, 1);
  });
});

test("publish() refuses data that JSON cannot carry, and names the place", async () => {
  const cycle: Record<string, unknown> = { deep: {} };
  cycle.deep = { back: cycle };
  const rows: readonly [data: unknown, place: RegExp][] = [
    [{ a: { b: NaN } }, /\/data\/a\/b/],
    [{ list: [1, -Infinity] }, /\/data\/list\/1/],
    [{ list: [() => {}] }, /\/data\/list\/0/],
    [{ "a/b": Infinity }, /\/data\/a~1b/],
    [cycle, /\/data\/deep\/back/],
    [[1, 2], /data/],
    ["text", /data/],
    [5, /data/],
    [true, /data/],
  ];
  await withApp({}, async ({ bq, transport }) => {
    await bq.connect();
    for (const [data, message] of rows) {
      await assert.rejects(bq.publish(URN, data as object), (error) => {
        assert.ok(error instanceof BabelQueueError, String(error));
        assert.deepEqual([error.code, message.test(error.message)], ["invalid_data", true]);
        return true;
      }, String(message));
    }
    assert.equal((await transport.size("shop")).ready, 0);
  });
});

test("publish() writes null data as an empty object, and a bigint as an integer", async () => {
  await withApp({}, async ({ bq, transport }) => {
    await bq.publish(URN, null as never);
    await bq.publish(URN, undefined as never);
    await bq.publish(URN, { n: 12345678901234567890n, gone: undefined });
    const data = (await bodies(transport, "shop")).map((body) =>
      /"data":(\{.*?\})/.exec(body)?.[1]
    );
    assert.deepEqual(data, ["{}", "{}", '{"n":12345678901234567890}']);
  });
});

test("publish() takes the data as it is when it is called", async () => {
  await withApp({}, async ({ bq, transport }) => {
    const data = { n: 1 };
    const headers = { tenant: "7" };
    const publishing = bq.publish(URN, data, { headers });
    data.n = 2;
    headers.tenant = "8";
    await publishing;
    for await (const message of transport.peek("shop")) {
      assert.deepEqual(parsed(text(message.body)).data, { n: 1 });
      assert.equal(message.headers.tenant, "7");
    }
  });
});

test("publish() refuses a message without an identity", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    for (const message of ["", " \t\r\n", undefined, null, 7, {}]) {
      await assert.rejects(bq.publish(message as never, {} as never), (error) => {
        assert.ok(error instanceof BabelQueueError, String(error));
        assert.equal(error.code, "invalid_envelope");
        return true;
      });
    }
    assert.equal(transport.published.length, 0);
  });
});

const delays = (publishDelay: Capabilities["publishDelay"]): ScriptedTransport =>
  new ScriptedTransport({}, { capabilities: { publishDelay } });

test("publish() refuses a delay above the transport's limit, and sends nothing", async () => {
  const rows = [
    [{ kind: "none" }, 0, 1, /'scripted' as it is set up cannot delay .* the delay is 1 ms$/],
    [{ kind: "native", maxMs: 900_000 }, 900_000, 900_001, /900001 ms exceeds .* 900000 ms$/],
    [{ kind: "tiers", tiersMs: [5_000, 60_000] }, 60_000, 60_001, /60001 ms exceeds .* 60000 ms$/],
    [{ kind: "tiers", tiersMs: [] }, 0, 1, /cannot delay/],
  ] as const;
  for (const [publishDelay, longest, tooLong, message] of rows) {
    const transport = delays(publishDelay);
    await withApp({ transport }, async ({ bq }) => {
      const refusal = { name: "BabelQueueError", code: "unsupported", message };
      await assert.rejects(bq.publish(URN, {}, { delayMs: tooLong }), refusal);
      await assert.rejects(
        bq.publishRaw("shop", new Uint8Array(), { delayMs: tooLong }),
        refusal,
      );
      assert.equal(transport.published.length, 0);
      await bq.publish(URN, {}, { delayMs: longest });
      assert.equal(sent(transport).delayMs ?? 0, longest);
    });
  }
  const unlimited = delays({ kind: "native" });
  await withApp({ transport: unlimited }, async ({ bq }) => {
    await bq.publish(URN, {}, { delayMs: Number.MAX_SAFE_INTEGER });
    assert.equal(sent(unlimited).delayMs, Number.MAX_SAFE_INTEGER);
  });
});

test("publish() hands the key on as it is, and headers without blanks and prototype", async () => {
  for (const key of ["order-7", "", null, Uint8Array.of(0, 255)]) {
    const transport = new ScriptedTransport();
    await withApp({ transport }, async ({ bq }) => {
      const headers = { tenant: "7", none: "", "": "x" };
      await bq.publish(URN, {}, { key, headers });
      const outgoing = sent(transport);
      assert.deepEqual(outgoing.key, key);
      assert.deepEqual(Object.entries(outgoing.headers!), [["tenant", "7"]]);
      assert.equal(Object.getPrototypeOf(outgoing.headers), null);
      assert.equal("delayMs" in outgoing, false);
    });
  }
});

test("publishRaw() sends the bytes, the key and the headers, and nothing of its own", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport }, async ({ bq }) => {
    const body = Uint8Array.of(0xff, 0x00, 0x7b);
    const result = await bq.publishRaw("video", body, {
      key: "k",
      delayMs: 5,
      headers: { tenant: "7" },
    });
    assert.equal(result, undefined);
    assert.equal(transport.published[0]?.queue, "video");
    const { headers, ...rest } = sent(transport);
    assert.deepEqual(rest, { body, key: "k", delayMs: 5 });
    assert.deepEqual({ ...headers }, { tenant: "7" });
  });
});

test("messages published without waiting arrive in the order of the calls", async () => {
  await withApp({}, async ({ bq, transport }) => {
    await Promise.all(Array.from({ length: 50 }, (_, n) => bq.publish(URN, { n })));
    const order = (await bodies(transport, "shop")).map((body) => parsed(body).data);
    assert.deepEqual(order, Array.from({ length: 50 }, (_, n) => ({ n })));
  });
});

test("publish() tells a message that is not there from one that may be", async () => {
  const plain = new Error("queue full");
  const typed = new ConnectionError("gone");
  const outcomes: readonly [
    answer: () => Promise<readonly PublishOutcome[]>,
    code: string,
    cause: unknown,
  ][] = [
    [() => Promise.resolve([{ status: "failed", error: plain }]), "publish_failed", plain],
    [() => Promise.resolve([{ status: "failed", error: typed }]), "connection", undefined],
    [() => Promise.resolve([{ status: "uncertain", error: plain }]), "publish_uncertain", plain],
    [() => Promise.resolve([{ status: "uncertain", error: typed }]), "publish_uncertain", typed],
    [
      () => Promise.resolve([{ status: "uncertain", error: new PublishUncertainError("cut") }]),
      "publish_uncertain",
      undefined,
    ],
    [() => Promise.resolve([]), "publish_uncertain", undefined],
    [() => Promise.reject(plain), "publish_failed", plain],
    [() => Promise.reject("no route"), "publish_failed", "no route"],
    [() => Promise.reject(typed), "connection", undefined],
    [() => Promise.reject(new PublishUncertainError("cut")), "publish_uncertain", undefined],
    [
      () => {
        throw plain;
      },
      "publish_failed",
      plain,
    ],
  ];
  for (const [publish, code, cause] of outcomes) {
    const transport = new ScriptedTransport({ publish });
    await withApp({ transport }, async ({ bq }) => {
      for (const call of [bq.publish(URN, {}), bq.publishRaw("shop", new Uint8Array())]) {
        await assert.rejects(call, (error) => {
          assert.ok(error instanceof BabelQueueError);
          assert.deepEqual([error.code, error.cause], [code, cause]);
          assert.equal(error instanceof PublishUncertainError, code === "publish_uncertain");
          return true;
        });
      }
    });
  }
});

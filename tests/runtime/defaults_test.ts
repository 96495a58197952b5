import assert from "node:assert/strict";
import { systemClock } from "@bq/core";
import { DEFAULTS, resolveOptions } from "../../runtime/options.ts";
import { test } from "../harness.ts";
import { B0, type Bench, ended, envelope, NOW_MS, parsed, text, URN, withApp } from "./_app.ts";
import { documentedDefaults } from "./_documented.ts";
import { never, ScriptedTransport } from "./_scripted.ts";

const documented = new Map(
  ["options", "router", "publish_options", "run_options"].flatMap((file) => [
    ...documentedDefaults(`runtime/${file}.ts`),
  ]),
);

test("every option says its default, except where another call's option says it", () => {
  const silent = [...documented].filter(([, value]) => value === null).map(([name]) => name);
  assert.deepEqual(
    silent,
    ["key", "delayMs", "headers"].map((name) => `PublishRawOptions.${name}`),
  );
});

test("an App's documented defaults are the ones it has", () => {
  const { retry, ...app } = DEFAULTS;
  const actual: Record<string, unknown> = { ...app, retry };
  for (const [name, value] of Object.entries(retry)) actual[`RetryOptions.${name}`] = value;
  let checked = 0;
  for (const [name, value] of documented) {
    const option = name.replace("BabelQueueOptions.", "");
    if (option === name && !name.startsWith("RetryOptions.")) continue;
    checked++;
    if (option === "clock") {
      assert.deepEqual([value, actual[option]], ["systemClock", systemClock]);
    } else if (option === "random") {
      assert.equal(value, "Math.random");
    } else if (option === "onUnknownUrn") {
      // Not set is `fail` for an unknown URN, and no word about poison.
      assert.deepEqual([value, actual[option]], ['"fail"', undefined]);
    } else {
      assert.ok(option in actual, name);
      assert.deepEqual(evaluated(value!), actual[option], name);
    }
  }
  assert.equal(checked, Object.keys(DEFAULTS).length + 1 + Object.keys(retry).length);
  const { random, ...resolved } = resolveOptions();
  assert.deepEqual(resolved, DEFAULTS);
  const drawn = Array.from({ length: 100 }, random);
  assert.ok(drawn.every((chance) => chance >= 0 && chance < 1));
  assert.ok(new Set(drawn).size > 90);
});

/** The value of a documented literal. */
function evaluated(literal: string): unknown {
  if (literal === "undefined") return undefined;
  const json = literal.replace(/(\w+):/g, '"$1":');
  return JSON.parse(json);
}

test("an App without options publishes to and works on 'default'", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, queue: undefined as never }, async ({ bq, clock }) => {
    await bq.publish(URN, {});
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(transport.published[0]?.queue, "default");
    assert.equal(transport.receives[0]?.queue, "default");
  });
});

/** What a documented default does, for each option that is not the App's own. */
const BEHAVIOUR: Readonly<
  Record<
    string,
    readonly [documented: string, check: (bench: Bench<ScriptedTransport>) => Promise<void>]
  >
> = {
  "HandleOptions.queue": ["undefined", async ({ bq, transport, clock }) => {
    const queues: string[] = [];
    bq.handle(URN, (_, ctx) => void queues.push(ctx.queue));
    for (const queue of ["shop", "video"]) {
      transport.put(queue);
      await ended(bq.consume({ queue, waitMs: 0 }), clock);
    }
    assert.deepEqual(queues, ["shop", "video"]);
  }],
  "HandleOptions.maxAttempts": ["the App's maxAttempts", async ({ bq, transport, clock }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    for (const attempts of ["5", "6"]) transport.put("shop", envelope({ attempts }));
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(transport.verdicts, ["retry", "ack"]);
  }],
  "HandleOptions.timeoutMs": ["the App's handlerTimeoutMs", async ({ bq, transport, clock }) => {
    bq.handle(URN, () => never());
    transport.put("shop");
    const working = bq.consume({ waitMs: 0, maxMessages: 1 });
    await clock.advance(7_776);
    assert.equal(transport.settled.length, 0);
    await clock.advance(1);
    assert.deepEqual(transport.verdicts, ["retry"]);
    await ended(working, clock);
  }],
  "HandleOptions.bigint": ["false", async ({ bq, transport, clock }) => {
    const seen: unknown[] = [];
    bq.handle(URN, (data) => void seen.push(data.n));
    transport.put("shop", envelope({ data: '{"n":9007199254740993}' }));
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(seen, [9007199254740992]);
  }],
  "SendOptions.timeoutMs": ["30000", async ({ bq, transport, clock }) => {
    let signal: AbortSignal | undefined;
    transport.script = { publish: (_queue, _messages, given) => (signal = given, never()) };
    const publishing = assert.rejects(bq.publish(URN, {}), { code: "publish_uncertain" });
    await clock.advance(28_999);
    assert.equal(signal?.aborted, false);
    await clock.advance(1);
    assert.equal(signal?.aborted, true);
    await clock.advance(1_000);
    await publishing;
  }],
  "SendOptions.signal": ["undefined", async ({ bq, transport }) => {
    await bq.publish(URN, {});
    assert.equal(transport.published.length, 1);
  }],
  "MessageOptions.queue": ["the App's queue", async ({ bq, transport }) => {
    await bq.publish(URN, {});
    await bq.publishMany([{ message: URN, data: {} }]);
    assert.deepEqual(transport.published.map(({ queue }) => queue), ["shop", "shop"]);
  }],
  ...notSent("key", "undefined"),
  ...notSent("delayMs", "0"),
  ...notSent("headers", "undefined"),
  "MessageOptions.traceId": ["a new UUID", async ({ bq, transport }) => {
    for (let n = 0; n < 2; n++) await bq.publish(URN, {});
    const ids = transport.published.map(({ messages }) => parsed(text(messages[0]!.body)).trace_id);
    for (const id of ids) assert.match(String(id), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{18}/);
    assert.notEqual(ids[0], ids[1]);
  }],
  "MessageOptions.meta": ["undefined", async ({ bq, transport }) => {
    const id = await bq.publish(URN, {});
    const { meta } = parsed(text(transport.published[0]!.messages[0]!.body));
    assert.deepEqual(meta, {
      id,
      queue: "shop",
      lang: "node",
      schema_version: 1,
      created_at: NOW_MS,
    });
  }],
  "RunOptions.queues": ["the App's queue", async ({ bq, transport, clock }) => {
    const running = bq.run();
    await clock.advance(0);
    assert.deepEqual(transport.receives.map(({ queue }) => queue), ["shop"]);
    await ended(Promise.all([bq.stop(), running]), clock);
  }],
  "RunOptions.concurrency": ["the App's concurrency", async ({ bq, transport, clock }) => {
    const running = bq.run({ queues: ["shop", "video"] });
    await clock.advance(0);
    assert.deepEqual(transport.receives.map(({ max }) => max), [3, 3]);
    await ended(Promise.all([bq.stop(), running]), clock);
  }],
  "RunOptions.signal": ["undefined", runsUntilStopped],
  "RunOptions.forceSignal": ["undefined", runsUntilStopped],
  "ConsumeOptions.queue": ["the App's queue", async ({ bq, transport, clock }) => {
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(transport.receives[0]?.queue, "shop");
  }],
  "ConsumeOptions.maxMessages": ["undefined", async ({ bq, transport, clock }) => {
    bq.handle(URN, () => {});
    for (let n = 0; n < 50; n++) transport.put("shop");
    assert.equal((await ended(bq.consume(), clock)).handled, 50);
  }],
  "ConsumeOptions.waitMs": ["the App's pollTimeoutMs", async ({ bq, transport, clock }) => {
    await ended(bq.consume(), clock);
    assert.deepEqual(transport.receives.map(({ waitMs }) => waitMs), [444]);
  }],
  "ConsumeOptions.concurrency": ["the App's concurrency", async ({ bq, transport, clock }) => {
    await ended(bq.consume(), clock);
    assert.deepEqual(transport.receives.map(({ max }) => max), [3]);
  }],
  "ConsumeOptions.signal": ["undefined", async ({ bq, clock }) => {
    assert.equal((await ended(bq.consume(), clock)).handled, 0);
  }],
};

function notSent(member: "key" | "delayMs" | "headers", value: string): typeof BEHAVIOUR {
  return {
    [`MessageOptions.${member}`]: [value, async ({ bq, transport }) => {
      await bq.publish(URN, {});
      assert.deepEqual(Object.keys(transport.published[0]!.messages[0]!), ["body", "canonical"]);
    }],
  };
}

async function runsUntilStopped({ bq, clock, transport }: Bench<ScriptedTransport>): Promise<void> {
  let over = false;
  const running = bq.run().finally(() => over = true);
  await clock.advance(3_600_000);
  assert.equal(over, false);
  assert.ok(transport.receives.length > 3_000);
  await ended(Promise.all([bq.stop(), running]), clock);
}

test("every default of a call is documented and tested", () => {
  const own = [...documented.keys()].filter((name) =>
    !/^(BabelQueueOptions|RetryOptions|PublishRawOptions)\./.test(name)
  );
  assert.deepEqual(own.sort(), Object.keys(BEHAVIOUR).sort());
});

for (const [name, [value, check]] of Object.entries(BEHAVIOUR)) {
  test(`the default of ${name} is ${value}`, async () => {
    assert.equal(documented.get(name), value);
    const transport = new ScriptedTransport();
    const app = { maxAttempts: 7, handlerTimeoutMs: 7_777, concurrency: 3, pollTimeoutMs: 444 };
    await withApp({ transport, ...app }, async (bench) => {
      await bench.bq.connect();
      await check(bench);
    });
  });
}

test("an unknown URN that nobody set a strategy for fails like any other message", async () => {
  await withApp({}, async ({ bq, seen, clock }) => {
    await bq.publish(URN, {});
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(counts, { handled: 0, failed: 0, retried: 2, deadLettered: 0, dropped: 1 });
    assert.deepEqual(seen.of("unknownUrn").map(({ attempt }) => attempt), [1, 2, 3]);
    assert.equal(seen.of("dropped")[0]?.reason, "unknown_urn");
  });
});

test("without a prefetch a broker may keep as many messages as there are handlers", async () => {
  const transport = new ScriptedTransport();
  await withApp({ transport, concurrency: 3 }, async ({ bq, clock }) => {
    await ended(bq.consume({ waitMs: 0 }), clock);
    await ended(bq.consume({ waitMs: 0, concurrency: 8 }), clock);
    assert.deepEqual(transport.subscriptions.map(({ prefetch }) => prefetch), [3, 8]);
  });
  const other = new ScriptedTransport();
  await withApp({ transport: other, concurrency: 3, prefetch: 20 }, async ({ bq, clock }) => {
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(other.subscriptions.map(({ prefetch }) => prefetch), [20]);
  });
});

test("a message that nobody set options for gets three deliveries and is then dropped", async () => {
  await withApp({}, async ({ bq, transport, seen, clock }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    await bq.publishRaw("shop", new TextEncoder().encode(B0));
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(counts, { handled: 0, failed: 3, retried: 2, deadLettered: 0, dropped: 1 });
    assert.deepEqual(seen.of("retried").map(({ delayMs }) => delayMs), [0, 0]);
    assert.deepEqual(await transport.size("shop"), { ready: 0, delayed: 0, inFlight: 0 });
    assert.deepEqual(await transport.size("shop.dlq"), { ready: 0, delayed: 0, inFlight: 0 });
  });
});

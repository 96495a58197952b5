import assert from "node:assert/strict";
import { type BabelQueueOptions, SettleWriteError, type Verdict } from "@bq/core";
import { test } from "../harness.ts";
import { type Bench, ended, envelope, gate, NOW_MS, text, URN, withApp } from "./_app.ts";
import { never, type Script, type ScriptedOptions, ScriptedTransport } from "./_scripted.ts";

const NONE = { handled: 0, failed: 0, retried: 0, deadLettered: 0, dropped: 0 };

/** Runs a test with a handler that throws where the data says so. */
async function onScript(
  { script = {}, ...rest }: BabelQueueOptions & ScriptedOptions & { readonly script?: Script },
  work: (bench: Bench<ScriptedTransport>) => Promise<void>,
): Promise<void> {
  const { capabilities, policy, ...options } = rest;
  const transport = new ScriptedTransport(script, {
    ...(capabilities ? { capabilities } : {}),
    ...(policy ? { policy } : {}),
  });
  await withApp({ transport, ...options }, async (bench) => {
    await bench.bq.connect();
    bench.bq.handle(URN, ({ fails }) => {
      if (fails) throw new Error("boom");
    });
    await work(bench);
  });
}

const fails = envelope({ data: '{"fails":true}' });

test("a settle that fails is told and done with: no second call, and the next message is handled", async () => {
  const failures: readonly (() => Promise<never>)[] = [
    () => Promise.reject(new Error("channel gone")),
    () => Promise.reject("channel gone"),
    () => {
      throw new Error("channel gone");
    },
  ];
  for (const failure of failures) {
    let first = true;
    const settle = (): Promise<never> | undefined => {
      if (!first) return undefined;
      first = false;
      return failure();
    };
    await onScript(
      { script: { settle }, deadLetter: true },
      async ({ bq, transport, clock, seen }) => {
        for (let n = 0; n < 2; n++) transport.put("shop");
        const counts = await ended(bq.consume({ waitMs: 0 }), clock);
        assert.deepEqual(counts, { ...NONE, handled: 2 });
        assert.deepEqual(transport.verdicts, ["ack", "ack"]);
        assert.deepEqual(
          seen.of("settleFailed").map(({ error, level }) => [error.message, level]),
          [
            ["channel gone", "error"],
          ],
        );
      },
    );
  }
});

test("a retry that fails on the way is told, and counted as no retry", async () => {
  const settle = (): Promise<never> => Promise.reject(new Error("channel gone"));
  await onScript({ script: { settle } }, async ({ bq, transport, clock, seen }) => {
    transport.put("shop", fails);
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(counts, { ...NONE, failed: 1 });
    assert.deepEqual(transport.verdicts, ["retry"]);
    assert.deepEqual([seen.of("retried").length, seen.of("settleFailed").length], [0, 1]);
  });
});

test("a write that fails keeps the message in the broker's way, once", async () => {
  const writes = (settles: number) => {
    let n = 0;
    return {
      settle: (): Promise<never> | undefined =>
        ++n <= settles ? Promise.reject(new SettleWriteError("disk full")) : undefined,
    };
  };
  for (const deadLetter of [true, false]) {
    const options = { deadLetter, maxAttempts: deadLetter ? 1 : 3 };
    const wanted: Verdict["kind"] = deadLetter ? "deadLetter" : "retry";
    await onScript({ script: writes(1), ...options }, async ({ bq, transport, clock, seen }) => {
      transport.put("shop", fails);
      const counts = await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(counts, { ...NONE, failed: 1 });
      assert.deepEqual(transport.verdicts, [wanted, "return"]);
      assert.deepEqual(seen.of("writeFailed").map(({ error }) => error.message), ["disk full"]);
      assert.deepEqual(seen.of("returned").map(({ cause }) => cause), ["write_failed"]);
      assert.equal(seen.of("settleFailed").length, 0);
    });
    await onScript({ script: writes(2), ...options }, async ({ bq, transport, clock, seen }) => {
      transport.put("shop", fails);
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(transport.verdicts, [wanted, "return"]);
      assert.deepEqual([seen.of("writeFailed").length, seen.of("settleFailed").length], [1, 1]);
    });
  }
});

test("a decision that cannot be made keeps the message, and is told", async () => {
  const broken = (): never => {
    throw new Error("no name for it");
  };
  const onUnknownUrn = "dead_letter" as const;
  const rows: readonly (readonly [body: string, options: BabelQueueOptions])[] = [
    [fails, { deadLetter: true, maxAttempts: 1 }],
    ["[]", { deadLetter: true }],
    [envelope({ job: '"urn:babel:unknown"' }), { onUnknownUrn }],
  ];
  for (const [body, options] of rows) {
    const policy = { deadLetterQueue: broken };
    await onScript({ policy, ...options }, async ({ bq, transport, clock, seen }) => {
      transport.put("shop", body);
      transport.put("shop");
      const counts = await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual([counts.deadLettered, counts.dropped, counts.handled], [0, 0, 1]);
      assert.equal(transport.settled.length, 2);
      const first = transport.settled.find(({ delivery }) => text(delivery.body) === body);
      // Whichever way it is kept: what must not happen is that it is gone.
      assert.ok(["return", "leave", "retry"].includes(first!.verdict.kind), first!.verdict.kind);
      assert.equal(seen.of("settleFailed").length, 0);
      const told = seen.of("writeFailed");
      assert.deepEqual(told.map(({ error }) => error.message), ["no name for it"]);
      assert.equal(seen.of("dropped").length, 0);
    });
  }
});

test("a broker that would give the message back at once is asked after a pause", async () => {
  let first = true;
  const settle = (): Promise<never> | undefined => {
    if (!first) return undefined;
    first = false;
    return Promise.reject(new SettleWriteError("disk full"));
  };
  const policy = { writeFailed: { kind: "leave", holdMs: 1_000 } } as const;
  await onScript({ script: { settle }, policy }, async ({ bq, transport, clock }) => {
    transport.put("shop", fails);
    const working = bq.run();
    await clock.advance(999);
    assert.deepEqual(transport.verdicts, ["retry"]);
    assert.equal(bq.health().queues[0]?.held, 1);
    await clock.advance(1);
    assert.deepEqual(transport.verdicts, ["retry", "leave"]);
    await ended(Promise.all([bq.stop(), working]), clock);
  });
});

test("what the transport calls expired is told and counted as nothing", async () => {
  const settle = (): Promise<"expired"> => Promise.resolve("expired");
  await onScript(
    { script: { settle }, deadLetter: true },
    async ({ bq, transport, clock, seen }) => {
      transport.put("shop");
      transport.put("shop", fails);
      transport.put("shop", "not json");
      const counts = await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(counts, { ...NONE, handled: 1, failed: 1 });
      assert.deepEqual(seen.of("expired").map(({ level }) => level), ["warn", "warn", "warn"]);
      assert.deepEqual([seen.of("retried").length, seen.of("deadLettered").length], [0, 0]);
    },
  );
});

test("a settle without an answer is given up after 30 s, and a late answer changes nothing", async () => {
  const late: readonly (() => Promise<"settled" | "expired">)[] = [
    () => Promise.resolve("settled"),
    () => Promise.resolve("expired"),
    () => Promise.reject(new Error("too late")),
    () => Promise.reject(new SettleWriteError("too late")),
  ];
  for (const answer of late) {
    const answering = gate();
    const settle = (): Promise<"settled" | "expired"> => answering.opened.then(answer);
    await onScript({ script: { settle } }, async ({ bq, transport, clock, seen }) => {
      const running = bq.run();
      await clock.advance(0);
      transport.put("shop");
      await clock.advance(29_999);
      assert.equal(bq.health().queues[0]?.settling, 1);
      await clock.advance(1);
      assert.equal(bq.health().queues[0]?.settling, 0);
      const [failed] = seen.of("settleFailed");
      assert.equal(failed?.error.message, "no answer within 30000 ms");
      answering.open();
      await clock.advance(0);
      assert.equal(bq.health().queues[0]?.settling, 0);
      assert.deepEqual([seen.of("settleFailed").length, transport.settled.length], [1, 1]);
      assert.deepEqual([seen.of("expired").length, seen.of("writeFailed").length], [0, 0]);
      await ended(Promise.all([bq.stop(), running]), clock);
    });
  }
});

test("a worker whose settles all hang goes on once they are given up", async () => {
  const script = { settle: () => never<"settled">() };
  await onScript({ script }, async ({ bq, transport, clock, seen }) => {
    const running = bq.run();
    await clock.advance(0);
    for (let n = 0; n < 5; n++) transport.put("shop");
    await clock.advance(29_999);
    assert.equal(seen.of("handled").length, 2);
    await clock.advance(1);
    assert.equal(seen.of("handled").length, 4);
    await ended(Promise.all([bq.stop(), running]), clock);
  });
});

test("every end of a message that meets no handler is one call and one event", async () => {
  const rows: readonly [
    policy: ScriptedOptions["policy"] & object,
    body: string,
    verdict: Verdict["kind"],
    event: "left" | "deadLettered" | "dropped" | "returned" | "retried",
    count: Partial<typeof NONE>,
  ][] = [
    [{ poison: { deletable: true, off: "leave", optedOut: "leave" } }, "[]", "leave", "left", {}],
    [
      { poison: { deletable: true, off: "native", optedOut: "native" } },
      "[]",
      "deadLetterNatively",
      "deadLettered",
      { deadLettered: 1 },
    ],
    [
      { poison: { deletable: true, off: "deadLetter", optedOut: "deadLetter" } },
      "[]",
      "deadLetter",
      "deadLettered",
      { deadLettered: 1 },
    ],
    [
      { poison: { deletable: true, off: "drop", optedOut: "drop" } },
      "[]",
      "ack",
      "dropped",
      { dropped: 1 },
    ],
    [
      { poison: { deletable: true, off: "retry", optedOut: "retry" } },
      "[]",
      "retry",
      "retried",
      { retried: 1 },
    ],
    [
      { exhaustedOff: "native" },
      envelope({ data: '{"fails":true}', attempts: "2" }),
      "deadLetterNatively",
      "deadLettered",
      { failed: 1, deadLettered: 1 },
    ],
    [{ retry: "impossible" }, fails, "return", "returned", { failed: 1 }],
  ];
  for (const [policy, body, verdict, event, count] of rows) {
    await onScript({ policy }, async ({ bq, transport, clock, seen }) => {
      transport.put("shop", body);
      const counts = await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(counts, { ...NONE, ...count }, verdict);
      assert.deepEqual(transport.verdicts, [verdict]);
      assert.equal(seen.of(event).length, 1, event);
      assert.equal(clock.now(), NOW_MS);
    });
  }
});

test("an event names the place of a dead-lettered message and why it is there", async () => {
  const policy = { poison: { deletable: true, off: "native", optedOut: "native" } } as const;
  await onScript({ policy }, async ({ bq, transport, clock, seen }) => {
    transport.put("shop", "[]");
    await ended(bq.consume({ waitMs: 0 }), clock);
    const [event] = seen.of("deadLettered");
    assert.deepEqual([event?.reason, event?.deadLetterQueue], ["native", ""]);
    const [poison] = seen.of("poison");
    assert.deepEqual(transport.settled[0]?.verdict, {
      kind: "deadLetterNatively",
      reason: "poison",
      description: `Undecodable BabelQueue body: ${poison?.cause}`,
    });
    assert.deepEqual([poison?.queue, poison?.urn, poison?.messageId], ["shop", "", ""]);
    assert.ok(poison!.cause.length > 0);
  });
  await onScript({ deadLetterSuffix: "-dead" }, async ({ bq, transport, clock, seen }) => {
    transport.put("shop", "[]");
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(seen.of("deadLettered").length, 0, "a suffix alone switches nothing on");
  });
  for (
    const [options, queue] of [
      [{ deadLetter: true, deadLetterSuffix: "-dead" }, "shop-dead"],
      [{ deadLetterQueue: "graveyard" }, "graveyard"],
      [{ onUnknownUrn: "dead_letter" }, "shop.dlq"],
    ] as const
  ) {
    await onScript(options, async ({ bq, transport, clock, seen }) => {
      transport.put("shop", "[]");
      await ended(bq.consume({ waitMs: 0 }), clock);
      const [event] = seen.of("deadLettered");
      assert.deepEqual([event?.reason, event?.deadLetterQueue], ["poison", queue]);
    });
  }
});

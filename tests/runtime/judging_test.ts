import assert from "node:assert/strict";
import type { BabelQueueOptions, WarningCode } from "@bq/core";
import { inject } from "@bq/core/testing";
import { test } from "../harness.ts";
import { B0, bodies, bytes, ended, envelope, META, parsed, text, URN, withApp } from "./_app.ts";
import { ScriptedTransport } from "./_scripted.ts";

/** Judges bodies: how many were handled, and what was warned about. */
async function judged(
  options: BabelQueueOptions,
  sent: readonly (string | Uint8Array)[],
  expected: { readonly handled: number; readonly warnings?: readonly WarningCode[] },
): Promise<void> {
  await withApp({ deadLetter: true, ...options }, async ({ bq, transport, clock, seen }) => {
    let handled = 0;
    bq.handle(URN, () => void handled++);
    for (const body of sent) await inject(bq, "shop", body);
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.equal(handled, expected.handled, String(sent[0]));
    const poisoned = sent.length - expected.handled;
    assert.deepEqual([counts.deadLettered, seen.of("poison").length], [poisoned, poisoned]);
    const records = (await bodies(transport, "shop.dlq")).map((body) => parsed(body).dead_letter);
    for (const record of records) {
      assert.equal((record as { reason: string }).reason, "poison");
    }
    if (expected.warnings) {
      assert.deepEqual(seen.of("warning").map(({ code }) => code), expected.warnings);
    }
  });
}

const meta = (from: string, to: string): string => META.replace(from, to);

/** Bodies that lack something which an accepted envelope has. */
const INCOMPLETE: readonly (readonly [missing: string, body: string])[] = [
  ["trace_id", envelope({ trace_id: null })],
  ["trace_id", envelope({ trace_id: "null" })],
  ["trace_id", envelope({ trace_id: '" \\t"' })],
  ["data", envelope({ data: null })],
  ["data", envelope({ data: "null" })],
  ["meta", envelope({ meta: null })],
  ["attempts", envelope({ attempts: null })],
  ["attempts", envelope({ attempts: "null" })],
  ["meta.schema_version", envelope({ meta: meta('"schema_version":1,', "") })],
  ["meta.schema_version", envelope({ meta: meta('"schema_version":1', '"schema_version":null') })],
];

test("an incomplete message is handled, with one warning that names what is missing", async () => {
  for (const [missing, body] of INCOMPLETE) {
    await withApp({}, async ({ bq, clock, seen }) => {
      let handled = 0;
      bq.handle(URN, () => void handled++);
      for (let n = 0; n < 2; n++) await inject(bq, "shop", body);
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.equal(handled, 2);
      const warnings = seen.of("warning");
      assert.deepEqual(warnings.map(({ code }) => code), Array(2).fill("incomplete_envelope"));
      assert.ok(warnings.every(({ message }) => message.includes(missing)), missing);
      assert.deepEqual(warnings[0]?.subject, {
        queue: "shop",
        urn: URN,
        messageId: missing === "meta" ? "" : "6f1c2a3e-0000-4000-8000-000000000001",
        attempt: 1,
      });
    });
  }
  await judged({}, [`{"job":"${URN}"}`], { handled: 1, warnings: ["incomplete_envelope"] });
});

test("an incomplete message is warned about once at each delivery that meets a handler", async () => {
  await withApp({ maxAttempts: 4 }, async ({ bq, clock, seen }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    // It comes in with a count, as from another consumer.
    await inject(bq, "shop", envelope({ trace_id: null, data: null, attempts: "1" }));
    await ended(bq.consume({ maxMessages: 3, waitMs: 0 }), clock);
    assert.equal(seen.of("retried").length, 2);
    assert.deepEqual(
      seen.of("warning").map(({ code, message, subject }) => [code, message, subject?.attempt]),
      [2, 3, 4].map((n) => ["incomplete_envelope", "the message lacks trace_id, data", n]),
    );
  });
});

test("an incomplete message that nobody handles goes round without a warning", async () => {
  for (const onUnknownUrn of ["release", "fail", "delete", "dead_letter"] as const) {
    await withApp({ onUnknownUrn }, async ({ bq, clock, seen }) => {
      bq.handle("urn:babel:other", () => {});
      await inject(bq, "shop", envelope({ trace_id: null, data: null }));
      await ended(bq.consume({ maxMessages: 5, waitMs: 0 }), clock);
      if (onUnknownUrn === "release") assert.equal(seen.of("released").length, 5);
      assert.ok(seen.of("unknownUrn").length > 0);
      assert.deepEqual(seen.of("warning"), []);
    });
  }
});

test("the handler of a message without data gets null, and its meta is empty", async () => {
  await withApp({ deadLetter: true }, async ({ bq, clock }) => {
    const got: unknown[] = [];
    bq.handle(URN, (data, { envelope }) => {
      got.push([data, envelope.data, envelope.meta, envelope.attempts]);
    });
    for (const none of [null, "null"]) {
      await inject(bq, "shop", envelope({ data: none, meta: none, attempts: none }));
    }
    await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual(got, Array(2).fill([null, null, {}, 0]));
  });
});

test("a body without attempts is poison where the broker's rules say so, another gap is not", async () => {
  const rows = [
    ["poison", null, 1],
    ["poison", "null", 1],
    ["poison", "0", 0],
    ["dispatch", null, 0],
  ] as const;
  for (const [missingAttempts, attempts, poisoned] of rows) {
    const transport = new ScriptedTransport({}, { policy: { missingAttempts } });
    await withApp({ transport, deadLetter: true }, async ({ bq, clock, seen }) => {
      let handled = 0;
      bq.handle(URN, () => void handled++);
      transport.put("shop", envelope({ trace_id: null, attempts }));
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual([handled, seen.of("poison").length], [1 - poisoned, poisoned]);
      const verdict = transport.settled[0]?.verdict;
      if (poisoned === 0) return assert.equal(verdict?.kind, "ack");
      assert.ok(verdict?.kind === "deadLetter" && verdict.reason === "poison");
      const { dead_letter } = parsed(text(verdict.record));
      assert.equal(
        (dead_letter as { error: string }).error,
        "Undecodable BabelQueue body: attempts is missing",
      );
    });
  }
});

test("with strict an incomplete message is poison", async () => {
  for (const [, body] of INCOMPLETE) {
    await judged({ strict: true }, [body], { handled: 0, warnings: [] });
  }
  await judged({ strict: true }, [envelope({}), envelope({ extra: "1" })], { handled: 2 });
});

test("an empty object as data and unknown members are complete", async () => {
  const bodies = [
    envelope({ data: "{}" }),
    envelope({ extra: '{"deep":[1]}' }),
    envelope({ meta: meta("}", ',"vendor":true}') }),
  ];
  await judged({ strict: true }, bodies, { handled: 3, warnings: [] });
});

test("the alias urn is folded with a warning, and a job that is none is ignored with one", async () => {
  const rows: readonly [members: Record<string, string | null>, warnings: WarningCode[]][] = [
    [{ job: null, urn: `"${URN}"` }, []],
    [{ urn: `"${URN}"` }, ["urn_alias"]],
    [{ urn: '"urn:babel:other"' }, ["urn_alias"]],
    [{ job: "7", urn: `"${URN}"` }, ["job_ignored"]],
    [{ job: '{"a":1}', urn: `"${URN}"` }, ["job_ignored"]],
  ];
  for (const [members, warnings] of rows) {
    await judged({}, [envelope(members)], { handled: 1, warnings });
  }
});

test("forbidden members are named in a warning each, and do not go on in the retry", async () => {
  await withApp({}, async ({ bq, transport, clock, seen }) => {
    bq.handle(URN, () => {
      throw new Error("boom");
    });
    const body = envelope({ timestamp: "5", meta: meta("}", ',"ts":1,"attempts":2}') });
    await inject(bq, "shop", body);
    await ended(bq.consume({ waitMs: 0, maxMessages: 1 }), clock);
    const warnings = seen.of("warning");
    assert.deepEqual(warnings.map(({ code }) => code), Array(3).fill("forbidden_key"));
    const told = warnings.map(({ message }) => message).join(" ");
    for (const name of ["timestamp", "ts", "attempts"]) assert.ok(told.includes(name), told);
    assert.deepEqual(await bodies(transport, "shop"), [envelope({ attempts: "1" })]);
  });
});

test("a body that nobody could handle meets no handler and no strategy for unknown URNs", async () => {
  const poison = [
    "",
    " ",
    "null",
    "7",
    '"text"',
    "[]",
    "{}",
    '{"job":""}',
    '{"job":" \\t"}',
    `{"job":"${URN}"`,
    `${envelope({})}x`,
    `\ufeff${envelope({})}`,
    envelope({ job: "7" }),
    envelope({ data: "[1]" }),
    envelope({ data: '"text"' }),
    envelope({ data: '{"n":1e400}' }),
    envelope({ trace_id: "7" }),
    envelope({ meta: "[]" }),
    envelope({ attempts: "1.0" }),
    envelope({ attempts: '"1"' }),
    envelope({ meta: meta('"schema_version":1', '"schema_version":2') }),
    envelope({ meta: meta('"schema_version":1', '"schema_version":"1"') }),
    Uint8Array.of(0xff, 0xfe),
    Uint8Array.of(...new TextEncoder().encode(envelope({})).slice(0, -20), 0xc3, 0x28),
  ];
  for (const onUnknownUrn of ["release", "fail", "dead_letter"] as const) {
    await judged({ onUnknownUrn }, poison, { handled: 0 });
  }
});

test("version and strictness come before the route: what nobody handles is poison too", async () => {
  const other = { job: '"urn:babel:unknown"' };
  const version = { meta: meta('"schema_version":1', '"schema_version":2') };
  const rows: readonly (readonly [options: BabelQueueOptions, body: string])[] = [
    [{}, envelope({ ...other, ...version })],
    [{ strict: true }, envelope({ ...other, trace_id: null })],
  ];
  for (const [options, body] of rows) {
    for (const onUnknownUrn of [undefined, "fail", "release", "dead_letter"] as const) {
      const strategy = onUnknownUrn === undefined ? {} : { onUnknownUrn };
      const all = { ...options, ...strategy, deadLetter: true };
      await withApp(all, async ({ bq, transport, clock, seen }) => {
        await inject(bq, "shop", body);
        await ended(bq.consume({ maxMessages: 1, waitMs: 0 }), clock);
        assert.deepEqual([seen.of("poison").length, seen.of("unknownUrn").length], [1, 0]);
        const { dead_letter } = parsed((await bodies(transport, "shop.dlq"))[0]);
        assert.equal((dead_letter as { reason: string }).reason, "poison");
      });
    }
  }
});

test("poison takes its route on its first delivery, whatever its count says", async () => {
  const rows: readonly (readonly [options: BabelQueueOptions, body: string])[] = [
    [{}, envelope({ data: "[1]", attempts: "99" })],
    [{}, envelope({ meta: meta('"schema_version":1', '"schema_version":2'), attempts: "99" })],
    [{ strict: true }, envelope({ trace_id: null, attempts: "99" })],
  ];
  for (const [options, body] of rows) {
    await withApp({ ...options, deadLetter: true }, async ({ bq, transport, clock, seen }) => {
      await inject(bq, "shop", body);
      await ended(bq.consume({ waitMs: 0 }), clock);
      const [event] = seen.of("deadLettered");
      assert.deepEqual([event?.attempt, event?.urn, event?.reason], [1, URN, "poison"]);
      const { attempts, dead_letter } = parsed((await bodies(transport, "shop.dlq"))[0]);
      assert.deepEqual([attempts, (dead_letter as { attempts: number }).attempts], [99, 0]);
    });
    // Without a record it is tried as often as any other, however high the body counts.
    await withApp(options, async ({ bq, clock, seen }) => {
      await inject(bq, "shop", body);
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.deepEqual(seen.of("poison").map(({ attempt }) => attempt), [1, 2, 3]);
      assert.deepEqual(seen.of("dropped").map(({ attempt }) => attempt), [3]);
    });
  }
});

test("what the transport calls undecodable is poison, however well it reads", async () => {
  const latin1 = Uint8Array.of(0xe9);
  const rows = [
    [bytes(B0), (record: string) => record.startsWith(`${B0.slice(0, -1)},"dead_letter":{`)],
    [latin1, (record: string) => record.startsWith('{"raw":"6Q==","raw_encoding":"base64",')],
  ] as const;
  for (const [body, isRecord] of rows) {
    const transport = new ScriptedTransport();
    await withApp({ transport, deadLetter: true }, async ({ bq, clock, seen }) => {
      await bq.connect();
      bq.handle(URN, () => assert.fail("it met a handler"));
      transport.put("shop", B0, { body, undecodable: true });
      await ended(bq.consume({ waitMs: 0 }), clock);
      assert.equal(seen.of("poison").length, 1);
      const verdict = transport.settled[0]?.verdict;
      assert.ok(verdict?.kind === "deadLetter");
      assert.deepEqual([verdict.reason, verdict.queue], ["poison", "shop.dlq"]);
      assert.ok(isRecord(text(verdict.record)), text(verdict.record));
      assert.equal(JSON.parse(text(verdict.record)).dead_letter.reason, "poison");
    });
  }
});

test("a message that a broker counted is told with its number, an unknown URN too", async () => {
  await withApp({ deadLetter: true }, async ({ bq, clock, seen }) => {
    await inject(bq, "shop", envelope({ job: '"urn:babel:unknown"', attempts: "2" }));
    const counts = await ended(bq.consume({ waitMs: 0 }), clock);
    assert.deepEqual([counts.failed, counts.deadLettered], [0, 1]);
    assert.equal(seen.of("unknownUrn")[0]?.attempt, 3);
    assert.equal(seen.of("deadLettered")[0]?.reason, "unknown_urn");
  });
});

test("the strategies for an unknown URN do what they are called", async () => {
  const body = envelope({ job: '"urn:babel:unknown"' });
  const rows = [
    ["fail", { retried: 2, dropped: 1 }, "dropped", []],
    ["delete", { dropped: 1 }, "dropped", []],
    ["release", {}, "released", [body]],
    ["dead_letter", { deadLettered: 1 }, "deadLettered", []],
  ] as const;
  for (const [onUnknownUrn, counts, event, left] of rows) {
    const options = { onUnknownUrn, unknownUrnReleaseDelayMs: 60_000 };
    await withApp(options, async ({ bq, transport, clock, seen }) => {
      bq.handle(URN, () => {});
      await inject(bq, "shop", body);
      const got = await ended(bq.consume({ waitMs: 0 }), clock);
      const none = { handled: 0, failed: 0, retried: 0, deadLettered: 0, dropped: 0 };
      assert.deepEqual(got, { ...none, ...counts }, onUnknownUrn);
      assert.equal(seen.of(event).length, 1, onUnknownUrn);
      assert.deepEqual(await bodies(transport, "shop"), left, onUnknownUrn);
    });
  }
});

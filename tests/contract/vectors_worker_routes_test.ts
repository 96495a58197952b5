/** Worked cases on what never meets a handler, and on who decides the route, on the memory transport. */

import assert from "node:assert/strict";
import type { MemoryTransport } from "@bq/core";
import { inject } from "@bq/core/testing";
import { artemisPolicy } from "../../transports/artemis/policy.ts";
import { serviceBusPolicy } from "../../transports/azure-service-bus/policy.ts";
import { kafkaPolicy } from "../../transports/kafka/policy.ts";
import { pulsarPolicy } from "../../transports/pulsar/policy.ts";
import { sqsPolicy } from "../../transports/sqs/policy.ts";
import { test } from "../harness.ts";
import { bodies, boom, DLQ, done, dressed, first, onBench, once, QUEUE } from "./_bench.ts";
import { bytes } from "./_decisions.ts";
import { B0, b0, B1, deadLetterText, META, poisonText, U } from "./_vectors.ts";

const nested = (lists: number): string =>
  `{"job":"${U}","data":{"a":${"[".repeat(lists)}${"]".repeat(lists)}}}`;

/** A record with the cause, which is nobody's business, cut out. */
const withoutCause = (record: string): string =>
  record.replace(/(Undecodable BabelQueue body: )[^"\\]*/, "$1CAUSE");

test("V008–V014, V030–V034 the worker writes the record of every kind of poison", async () => {
  const poison: (string | Uint8Array)[] = [
    '{"x":1}',
    "{}",
    "not json",
    "",
    "[1,2]",
    new Uint8Array([...bytes('{"a":"'), 0xff, ...bytes('","attempts":0}')]),
    '{"n":12345678901234567890}',
    b0({ data: '"data":{"a":[{"n":-2e999}]}' }),
    b0({ data: `"data":{"n":${"9".repeat(400)}}` }),
    nested(999),
    '{"x":1,"dead_letter":{}}',
    ' \t{"x" : 1, "x":2}\n',
    '\ufeff{"job":"urn:babel:shop:paid"}',
    b0({ data: '"data":{"a":"\\ud800"}', attempts: '"attempts":"1"' }),
  ];
  await onBench({ deadLetter: true }, done, async ({ bq, transport, seen, calls }) => {
    for (const body of poison) await inject(bq, QUEUE, body);
    assert.equal((await bq.consume(once)).deadLettered, poison.length);
    const records = await bodies(transport, DLQ);
    assert.deepEqual(records.map(withoutCause), poison.map((body) => poisonText(body, 0, QUEUE)));
    assert.equal(seen.of("poison").length, poison.length);
    assert.equal(calls.length, 0);
  });
});

test("V030 V031 the largest legal nesting and an underflow meet the handler", async () => {
  await onBench({ deadLetter: true }, done, async ({ bq, calls }) => {
    await inject(bq, QUEUE, nested(998));
    await inject(bq, QUEUE, b0({ data: '"data":{"n":3e-999}' }));
    assert.equal((await bq.consume(once)).handled, 2);
    assert.deepEqual(calls[1], [{ n: 0 }, 1]);
  });
});

test("V020 an unknown URN under strategy dead_letter is written as it came", async () => {
  await onBench({ onUnknownUrn: "dead_letter" }, null, async ({ bq, transport }) => {
    await inject(bq, QUEUE, B0);
    assert.equal((await bq.consume(once)).deadLettered, 1);
    assert.deepEqual(await bodies(transport, DLQ), [
      `${B0.slice(0, -1)},${deadLetterText("unknown_urn", 0, "shop")}}`,
    ]);
  });
});

/** Policy, dead-letter queue, and what becomes of a gated message without one; memory has no native place. */
const GATING = {
  "SQS": [sqsPolicy(), `${QUEUE}-dlq`, "left"],
  "Service Bus": [serviceBusPolicy(), DLQ, null],
  "Pulsar": [pulsarPolicy({ subscriptionType: "Shared" }), DLQ, "dropped"],
  "Kafka": [kafkaPolicy({ tiers: true }), DLQ, "dropped"],
  "Artemis": [artemisPolicy(), DLQ, "dropped"],
} as const;

for (const [broker, [policy, deadLetterQueue, off]] of Object.entries(GATING)) {
  test(`V006 V412 V508 V610 V715 the worker of ${broker} settles a gated body unread`, async () => {
    const gated = (): MemoryTransport => dressed({ schemaVersion: "2" }, policy);
    await onBench({ deadLetter: true }, done, async ({ bq, transport, seen, calls }) => {
      for (const body of [B0, "not json"]) await inject(bq, QUEUE, body);
      await bq.consume(once);
      assert.deepEqual(await bodies(transport, deadLetterQueue), [B0, "not json"]);
      assert.deepEqual(seen.of("gated").map(({ version }) => version), ["2", "2"]);
      assert.equal(seen.of("poison").length, 0);
      assert.equal(calls.length, 0);
    }, gated());
    if (off === null) return;
    await onBench({ onUnknownUrn: "release" }, done, async ({ bq, transport, seen, calls }) => {
      await inject(bq, QUEUE, B0);
      await bq.consume(once);
      assert.equal(seen.of(off).length, 1);
      assert.equal(calls.length, 0);
      assert.deepEqual(await bodies(transport, deadLetterQueue), []);
    }, gated());
  });

  test(`V003 V005 the worker of ${broker} judges what the gate lets pass by its body`, async () => {
    const body = b0({ meta: META.replace('"schema_version":1', '"schema_version":2') });
    for (const schemaVersion of [undefined, "", "\t\n\v\f\r ", "1"]) {
      const open = dressed({ schemaVersion }, policy);
      await onBench({ deadLetter: true }, done, async ({ bq, seen, calls }) => {
        await inject(bq, QUEUE, B0);
        await inject(bq, QUEUE, body);
        await bq.consume(once);
        assert.equal(calls.length, 1, JSON.stringify(schemaVersion));
        assert.deepEqual(seen.of("deadLettered").map(({ reason }) => reason), ["poison"]);
      }, open);
    }
  });
}

test("V607 a native route decides, the body stays, and one event tells of the mismatch", async () => {
  const alias = "urn:babel:alias:x";
  const routed = dressed({ route: ` ${alias}\t` });
  await onBench({}, boom, async ({ bq, transport, seen, calls }) => {
    const urns: [string, string][] = [];
    bq.handle(alias, (_, ctx) => {
      urns.push([ctx.urn, ctx.envelope.job]);
      throw new Error("boom");
    });
    await inject(bq, QUEUE, B0);
    await bq.consume(first);
    assert.deepEqual(urns, [[alias, U]]);
    assert.equal(calls.length, 0);
    const mismatches = seen.of("warning").filter(({ code }) => code === "route_mismatch");
    assert.equal(mismatches.length, 1);
    assert.deepEqual(await bodies(transport, QUEUE), [B1]);
  }, routed);
});

test("V607 a blank native route leaves the decision to the body", async () => {
  await onBench({}, done, async ({ bq, seen, calls }) => {
    await inject(bq, QUEUE, B0);
    await bq.consume(once);
    assert.equal(calls.length, 1);
    assert.equal(seen.of("warning").some(({ code }) => code === "route_mismatch"), false);
  }, dressed({ route: " \t" }));
});

test("V607 a native route gives no identity to a body that has none", async () => {
  await onBench({ deadLetter: true }, done, async ({ bq, seen, calls }) => {
    await inject(bq, QUEUE, '{"x":1}');
    await bq.consume(once);
    assert.equal(calls.length, 0);
    assert.equal(seen.of("poison").length, 1);
  }, dressed({ route: U }));
});

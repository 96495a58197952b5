/** Worked cases on back-off and the failure route. */

import assert from "node:assert/strict";
import { artemisCounting, kafkaCounting, pulsarCounting, reconcile } from "../../core/attempts.ts";
import { UnknownUrnError } from "../../core/errors.ts";
import { backoffMs } from "../../runtime/retry.ts";
import { pulsarQueueName } from "../../transports/pulsar/policy.ts";
import { test } from "../harness.ts";
import { backoff, bytes, NOW_MS, POLICIES } from "./_decisions.ts";
import {
  B0,
  b0,
  B1,
  B2,
  BOOM,
  DATA,
  deadLetterText,
  decideOn,
  decisionOn,
  recordOf,
  retryOf,
  U,
} from "./_vectors.ts";

const UNKNOWN = { kind: "unknownUrn", error: new UnknownUrnError(U, "shop") } as const;

/** The record of the third failure: V019 of the worked cases. */
const EXHAUSTED = `${b0({ attempts: '"attempts":3' }).slice(0, -1)},${
  deadLetterText("failed", 3, "shop", "boom", "Error")
}}`;

test("the shared body has the length that the worked cases state", () => {
  assert.deepEqual([B0, B1, B2].map((body) => bytes(body).length), [244, 244, 244]);
  assert.equal(NOW_MS, 1_760_000_005_000);
});

test("V016 the back-off grows by its factor up to its limit", () => {
  const waits = (maxMs: number, count: number): number[] =>
    Array.from(
      { length: count },
      (_, index) =>
        backoffMs({ ...backoff(), baseMs: 2_000, multiplier: 3, maxMs }, index + 1, 0.5),
    );
  assert.deepEqual(waits(10_000, 4), [2_000, 6_000, 10_000, 10_000]);
  assert.deepEqual(waits(0, 4), [2_000, 6_000, 18_000, 54_000]);
  assert.deepEqual([1, 2, 3].map((counted) => backoffMs(backoff(), counted, 0.5)), [0, 0, 0]);
});

test("V017 full jitter draws evenly", () => {
  assert.equal(backoffMs({ ...backoff(), baseMs: 4_000, jitter: "full" }, 1, 0.25), 1_000);
});

test("V018 the third of three deliveries is the last, on every broker that can retry", () => {
  for (const broker of Object.keys(POLICIES)) {
    if (POLICIES[broker]!.retry === "impossible") continue;
    const on = { deadLetter: true };
    const retries = [0, 1].map((reconciled) =>
      retryOf(decideOn(broker, BOOM, on, { reconciled })).attempts
    );
    assert.deepEqual(retries, [1, 2], broker);
    const { text, reason } = recordOf(decideOn(broker, BOOM, on, { body: B2, reconciled: 2 }));
    assert.deepEqual([text, reason], [EXHAUSTED, "failed"], broker);
    const once = recordOf(decideOn(broker, BOOM, { deadLetter: true, maxAttempts: 1 }));
    assert.equal(JSON.parse(once.text).attempts, 1, broker);
  }
});

test("V020 strategy dead_letter: at once, not counted, without an error", () => {
  for (const broker of Object.keys(POLICIES)) {
    const record = recordOf(decideOn(broker, UNKNOWN, { onUnknownUrn: "dead_letter" }));
    assert.equal(record.text, `${B0.slice(0, -1)},${deadLetterText("unknown_urn", 0, "shop")}}`);
  }
});

test("V022 the retry copy keeps members that nobody knows", () => {
  const body = b0({ meta: b0({}).match(/"meta":\{[^}]*/)![0] + ',"vendor_flag":true}' })
    .replace(/\}$/, ',"extra_top":"x"}');
  const copy = retryOf(decideOn("memory", BOOM, {}, { body })).text;
  assert.equal(copy, body.replace('"attempts":0', '"attempts":1'));
});

test("V035 counts saturate, and the largest is past every cap", () => {
  for (const written of ["9007199254740991", "9007199254740993", "9223372036854775807"]) {
    const body = b0({ attempts: `"attempts":${written}` });
    const reconciled = reconcile(Number(written), {});
    assert.equal(reconciled, 9007199254740991);
    const { text } = recordOf(decideOn("memory", BOOM, { deadLetter: true }, { body, reconciled }));
    assert.ok(text.includes('},"attempts":9007199254740991,'), text);
    assert.ok(text.includes('"shop","attempts":9007199254740991,"lang"'), text);
    assert.equal(decideOn("memory", BOOM, {}, { body, reconciled }).kind, "ack");
  }
  const body = b0({ attempts: '"attempts":-4' });
  assert.equal(reconcile(-4, {}), 0);
  assert.equal(retryOf(decideOn("memory", BOOM, {}, { body })).text, B1);
});

test("V110 zset: the retry copy is the raw job counted on, not its cjson form", () => {
  assert.deepEqual(retryOf(decideOn("redis zset", BOOM)), { text: B1, attempts: 1, delayMs: 0 });
});

test("V112 zset: three failures make three deliveries and one record with 3", () => {
  const first = retryOf(decideOn("redis zset", BOOM, { deadLetter: true }));
  const second = retryOf(
    decideOn("redis zset", BOOM, { deadLetter: true }, { body: first.text, reconciled: 1 }),
  );
  assert.deepEqual([first.text, second.text], [B1, B2]);
  const third = recordOf(
    decideOn("redis zset", BOOM, { deadLetter: true }, { body: second.text, reconciled: 2 }),
  );
  assert.deepEqual(third, { queue: "shop.dlq", reason: "failed", text: EXHAUSTED });
});

test("V136 zset: the strategy with an opted-out queue acknowledges", () => {
  const set = { onUnknownUrn: "dead_letter", deadLetterQueue: null } as const;
  assert.equal(decideOn("redis zset", UNKNOWN, set).kind, "ack");
});

test("V215 V217 legacy: the same copy and the same record", () => {
  assert.equal(retryOf(decideOn("redis legacy", BOOM)).text, B1);
  const last = decideOn("redis legacy", BOOM, { deadLetter: true }, { body: B2, reconciled: 2 });
  assert.equal(recordOf(last).text, EXHAUSTED);
});

test("V305 RabbitMQ: the record goes to shop.dlq", () => {
  const last = decideOn("rabbitmq", BOOM, { deadLetter: true }, { body: B2, reconciled: 2 });
  assert.deepEqual(recordOf(last), { queue: "shop.dlq", reason: "failed", text: EXHAUSTED });
});

test("V406 SQS: a failure changes the visibility only", () => {
  const retry = { ...backoff(), baseMs: 45_000 };
  const decision = decisionOn("sqs", BOOM, { retry }, { reconciled: 1 });
  assert.ok(decision.verdict.kind === "retry");
  assert.deepEqual([decision.verdict.delayMs, decision.holdMs], [45_000, 0]);
});

test("V408 V409 SQS at the cap: the record, or a deletion", () => {
  const last = decideOn("sqs", BOOM, { deadLetter: true }, { body: B2, reconciled: 2 });
  assert.deepEqual(recordOf(last), { queue: "shop-dlq", reason: "failed", text: EXHAUSTED });
  assert.equal(decideOn("sqs", BOOM, {}, { body: B2, reconciled: 2 }).kind, "ack");
});

test("V410 SQS: the suffix stands before .fifo, a name of its own wins", () => {
  const name = (queue: string, set: { deadLetterSuffix?: string; deadLetterQueue?: string }) =>
    recordOf(decideOn("sqs", BOOM, { deadLetter: true, maxAttempts: 1, ...set }, { queue })).queue;
  assert.equal(name("shop", {}), "shop-dlq");
  assert.equal(name("shop.fifo", {}), "shop-dlq.fifo");
  assert.equal(name("shop.fifo", { deadLetterSuffix: "-bad" }), "shop-bad.fifo");
  assert.equal(name("shop.fifo", { deadLetterQueue: "morgue" }), "morgue");
});

test("V507 Service Bus at the cap: the record, or natively dead-lettered", () => {
  const last = decideOn("service bus", BOOM, { deadLetter: true }, { body: B2, reconciled: 2 });
  assert.deepEqual(recordOf(last), { queue: "shop.dlq", reason: "failed", text: EXHAUSTED });
  const off = decideOn("service bus", BOOM, {}, { reconciled: 2 });
  assert.ok(off.kind === "deadLetterNatively");
  assert.equal(off.reason, "max attempts exhausted");
});

test("V605 V606 Pulsar at the cap: the record on the topic beside, or acknowledged", () => {
  const queue = "persistent://public/default/shop";
  const reconciled = reconcile(0, pulsarCounting(undefined, 2));
  const on = recordOf(decideOn("pulsar shared", BOOM, { deadLetter: true }, { queue, reconciled }));
  assert.equal(on.queue, "persistent://public/default/shop.dlq");
  assert.equal(JSON.parse(on.text).dead_letter.attempts, 3);
  assert.equal(decideOn("pulsar shared", BOOM, {}, { reconciled }).kind, "ack");
  const once = recordOf(decideOn("pulsar shared", BOOM, { deadLetter: true, maxAttempts: 1 }));
  assert.equal(JSON.parse(once.text).dead_letter.attempts, 1);
});

test("V611 Pulsar: a partition's queue and dead-letter topic have no partition number", () => {
  const queue = "persistent://t/ns/shop-partition-3";
  assert.equal(pulsarQueueName(queue), "shop");
  const set = { deadLetter: true, maxAttempts: 1 };
  const { queue: target } = recordOf(decideOn("pulsar shared", BOOM, set, { queue }));
  assert.equal(target, "persistent://t/ns/shop.dlq");
});

test("V612 Pulsar: poison is counted by the property alone", () => {
  const poison = { kind: "poison", cause: "CAUSE" } as const;
  const counted = (property: string | undefined): number => {
    const reconciled = reconcile(null, pulsarCounting(property, 0));
    const verdict = decideOn("pulsar shared", poison, {}, { body: "not json", reconciled });
    assert.ok(verdict.kind === "retry");
    return verdict.attempts;
  };
  assert.deepEqual([counted("1"), counted(undefined)], [2, 1]);
  const set = { onUnknownUrn: "dead_letter" } as const;
  assert.equal(recordOf(decideOn("pulsar shared", poison, set)).reason, "poison");
});

test("V712 Kafka at the cap: the record on shop.dlq, or committed", () => {
  const at = { body: B0, reconciled: reconcile(0, kafkaCounting("2")) };
  const { queue, text } = recordOf(decideOn("kafka", BOOM, { deadLetter: true }, at));
  assert.deepEqual([queue, text], ["shop.dlq", EXHAUSTED]);
  assert.equal(decideOn("kafka", BOOM, {}, at).kind, "ack");
});

test("V804 V805 Artemis: counted by the broker below the cap, a record or accepted at it", () => {
  const below = retryOf(decideOn("artemis", BOOM));
  assert.deepEqual([below.attempts, below.delayMs], [1, 0]);
  const at = { body: B0, reconciled: reconcile(0, artemisCounting(2)) };
  const { queue, text } = recordOf(decideOn("artemis", BOOM, { deadLetter: true }, at));
  assert.deepEqual([queue, text], ["shop.dlq", EXHAUSTED]);
  assert.ok(text.includes(DATA));
  assert.equal(decideOn("artemis", BOOM, {}, at).kind, "ack");
});

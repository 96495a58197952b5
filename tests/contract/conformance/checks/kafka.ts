/**
 * The sections `kafka`, `kafka_poison` and `backoff`: what is written, what the gate sees, and what a
 * worker does, on a live broker. Contract: K1, K13, K20–K26, K53.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DEFAULT_RETRY_TIERS_MS, retryTier, retryTopic } from "@bq/kafka";
import { BabelQueueError, readEnvelope, reemit } from "@bq/core";
import { versionGate } from "@bq/core/transport";
import { deliveryOf } from "../../../../transports/kafka/_delivery.ts";
import { publishRecord, retryRecord } from "../../../../transports/kafka/project.ts";
import { onBench } from "../../../kafka/bench.ts";
import { headersOf, text as textOf } from "../../../kafka/lab.ts";
import { isRecord, type JsonRecord, list, member, number, record, text } from "../json.ts";
import { AbsentServer, type CaseCheck } from "../run.ts";
import { checkGate } from "./counting.ts";
import { fatesOf } from "./_kafka_fates.ts";
import { checkThreeVerdicts, rawBody } from "./verdicts.ts";

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
const NOW_MS = 1_760_000_000_000;

/** Headers, timestamp and value of a published envelope. */
export const checkKafkaProjection: CaseCheck = async ({ value }, suite, servers) => {
  const body = suite.read(text(value, "envelope_file"));
  const port = await servers?.kafka?.();
  if (port === undefined) throw new AbsentServer("for want of a Kafka broker");
  await onBench({ port }, {}, async (bench) => {
    const queue = await bench.queue();
    // The timestamp is the record's own only where the broker does not write it.
    await bench.lab.configure([queue], {
      "message.timestamp.type": "CreateTime",
      "retention.ms": "-1",
    });
    const transport = await bench.open();
    const [outcome] = await transport.publish(queue, [{ body }]);
    assert.equal(outcome?.status, "confirmed");
    const [written] = await bench.lab.read(queue);
    assert.equal(textOf(written!.value), textOf(body), "the value");
    assert.equal(written!.key, null, "the key");
    assert.deepEqual(Object.fromEntries(headersOf(written!)), { ...record(value, "headers") });
    assert.equal(written!.timestampMs, JSON.parse(textOf(body)).meta.created_at, "the timestamp");
  });
};

/** The gate on a value, and on a record that has it in its header; null is a header without a value. */
export const checkKafkaGate: CaseCheck = async (item, suite, servers) => {
  await checkGate(item, suite, servers);
  const { value, parent } = item;
  const given = member(value, "value");
  const header = value["absent"] === true
    ? []
    : [[text(parent, "property"), given === null ? null : bytes(String(given))] as const];
  const { schemaVersion } = deliveryOf("orders", {
    topic: "orders",
    partition: 0,
    offset: 0n,
    key: null,
    value: suite.read(text(parent, "fixture")),
    headers: header,
    timestampMs: NOW_MS,
  });
  const expected = text(value, "expect") === "decode" ? "pass" : "gated";
  assert.equal(versionGate(schemaVersion), expected, "the gate on a record");
};

/** The verdict on a body, and what a worker does with the record. */
export const checkKafkaPoison: CaseCheck = async (item, suite, servers) => {
  await checkThreeVerdicts(item, suite, servers);
  const port = await servers?.kafka?.();
  if (port === undefined) return;
  const bodies = list(item.parent, "cases").map((one) => {
    assert.ok(isRecord(one));
    return [text(one, "name"), rawBody({ value: one })] as const;
  });
  const fate = (await fatesOf(suite, port, bodies)).get(text(item.value, "name"));
  // A verdict says nothing of the version, which has to be known before a handler runs.
  const { versionSupported } = readEnvelope(rawBody(item)).verdict();
  const isGood = text(item.value, "expect") === "ok" && versionSupported;
  const expected = isGood ? "handled" : "poison record";
  assert.equal(fate, expected, "what a worker did");
};

/** A delayed publish: the tier that it goes to, and what it says. */
export const checkKafkaDelay: CaseCheck = ({ value }) => {
  const place = placeOf(value);
  const delayMs = number(value, "delay_ms");
  const publish = () => publishRecord({ body: bytes("{}"), delayMs }, undefined, place);
  const expected = member(value, "expect");
  if (expected === "reject") return void assert.throws(publish, BabelQueueError);
  assert.ok(isRecord(expected));
  const tier = place.tiersMs.indexOf(number(expected, "tier_ms")) + 1;
  const written = publish();
  assert.equal(written.topic, retryTopic(place.topic, tier), "the topic");
  assertHeaders(written, record(expected, "headers"));
};

/** The record of a retry: the tier, the count and the key. */
export const checkKafkaRetryTier: CaseCheck = ({ value }, suite) => {
  const place = placeOf(value);
  const before = attemptsOf(value);
  const key = member(value, "key");
  const body = reemit(suite.read("fixtures/order-created.json"), { attempts: before + 1 });
  const source = {
    topic: place.topic,
    value: body,
    key: typeof key === "string" ? bytes(key) : null,
    headers: [],
  };
  const retry = () => retryRecord(source, { body, attempts: before + 1 }, place);
  const expected = member(value, "expect");
  if (expected === "reject") return void assert.throws(retry, BabelQueueError);
  assert.ok(isRecord(expected));
  const tier = retryTier(place.tiersMs, before);
  assert.deepEqual(tier, { number: number(expected, "n"), delayMs: number(expected, "tier_ms") });
  const written = retry();
  assert.equal(written.topic, text(expected, "topic"), "the topic");
  const expectedKey = member(expected, "key");
  assert.equal(written.key === null ? undefined : textOf(written.key), expectedKey, "the key");
  assertBody(written, expected);
};

/** The same by a worker on a live broker. */
export const checkKafkaRetry: CaseCheck = async (item, suite, servers) => {
  await checkKafkaRetryTier(item, suite, servers);
  const port = await servers?.kafka?.();
  if (port === undefined) return;
  const { value } = item;
  const { tiersMs } = placeOf(value);
  const attempts = attemptsOf(value);
  const body = reemit(suite.read("fixtures/order-created.json"), { attempts });
  await onBench({ port }, { retryTiersMs: tiersMs }, async (bench) => {
    const queue = await bench.queue();
    await bench.lab.write(queue, [{ value: body, headers: { "bq-attempts": `${attempts}` } }]);
    const { bq } = bench.app(queue, { deadLetter: true, maxAttempts: 100 });
    bq.handle(JSON.parse(textOf(body)).job, () => {
      throw new Error("fails");
    });
    await bq.consume({ maxMessages: 1, waitMs: 20_000 });
    await bq.close();
    const expected = member(value, "expect");
    if (expected === "reject") {
      const verdict = { kind: "retry", body, attempts: attempts + 1, delayMs: 0 } as const;
      const subscription = await bench.subscribe(queue);
      const delivery = await bench.one(subscription);
      await assert.rejects(subscription.settle(delivery, verdict), BabelQueueError);
      return assert.equal(await bench.lab.committed(bench.groupId, queue), 0n, "the commits");
    }
    assert.ok(isRecord(expected));
    const [written] = await bench.lab.read(retryTopic(queue, number(expected, "n")));
    assert.ok(written !== undefined, "nothing is on the tier's topic");
    assertBody(written, expected, queue);
  });
};

/** The name of a tier's topic. */
export const checkKafkaTopicName: CaseCheck = ({ value }) => {
  const topic = retryTopic(text(value, "work_topic"), number(value, "n"));
  assert.equal(topic, text(value, "expect_topic"));
};

/** The recommended tiers. */
export const checkKafkaDefaultTiers: CaseCheck = ({ value }) => {
  assert.deepEqual([...DEFAULT_RETRY_TIERS_MS], list(value, "expect"));
};

function attemptsOf(value: JsonRecord): number {
  return Number(member(value, "attempts") ?? member(value, "attempts_before"));
}

function placeOf(value: JsonRecord): { topic: string; tiersMs: number[]; nowMs: number } {
  const tiersMs = list(value, "retry_tiers_ms").map(Number);
  return { topic: text(value, "work_topic"), tiersMs, nowMs: NOW_MS };
}

type Written = Parameters<typeof headersOf>[0] & { readonly value: Uint8Array | null };

function assertBody(written: Written, expected: JsonRecord, topic?: string): void {
  const { attempts } = JSON.parse(textOf(written.value));
  assert.equal(attempts, number(expected, "body_attempts"), "attempts in the body");
  const headers = { ...record(expected, "headers") };
  // On a live broker the queue has a name of its own, since cases share it.
  if (topic !== undefined) headers["bq-original-topic"] = topic;
  assertHeaders(written, headers);
}

function assertHeaders(written: Parameters<typeof headersOf>[0], expected: JsonRecord): void {
  const headers = new Map(headersOf(written));
  for (const [name, value] of Object.entries(expected)) {
    assert.equal(headers.get(name), value, name);
  }
}

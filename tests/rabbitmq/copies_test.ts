/** What a message carries on when it is retried, delayed or dead-lettered. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { RetryAfterError } from "@bq/core";
import { delayQueueOf, type RabbitMessage, type RabbitProperties } from "@bq/rabbitmq";
import { copyProperties } from "../../transports/rabbitmq/project.ts";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { B0, B1, ID, TR, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { bodyOf, headersOf, inLab, type Lab, propertiesOf } from "./lab.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq());
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore });

/** Everything that a message can have beside its body and that a broker lets through unchanged. */
const PROPERTIES = {
  messageId: "own-id",
  timestamp: 1_760_000_000,
  appId: "somebody",
  priority: 4,
  expiration: "600000",
  correlationId: "own-correlation",
  replyTo: "answers",
  type: "urn:somebody:else",
  contentType: "text/plain",
  contentEncoding: "latin1",
} as const;

/** Headers of every kind that the client knows. */
const HEADERS = {
  text: "größe 7",
  empty: "",
  integer: 7,
  long: 1_099_511_627_776,
  double: 0.5,
  yes: true,
  nothing: null,
  list: [1, "a", { deep: [true] }],
  table: { a: 1, b: { c: "d" } },
  bytes: Buffer.from([0, 255, 128]),
  time: { "!": "timestamp", value: 1_760_000_000 },
};

const CONTRACT = { "x-attempts": 1, "x-schema-version": 1, "x-source-lang": "go" };

/** Puts a message on the queue and fails it once. */
async function failOnce(
  { app, admin, queue }: Lab,
  body: string,
  properties: object,
  error: Error = new Error("boom"),
): Promise<void> {
  const { bq } = app({ maxAttempts: 3 });
  bq.handle(U, () => {
    throw error;
  });
  await admin.declare(queue);
  await admin.put(queue, body, properties);
  await bq.consume({ maxMessages: 1 });
  await bq.close();
}

it("a retry copy has every property and every header of the original, of the same types", async (lab) => {
  await failOnce(lab, B0, { ...PROPERTIES, headers: HEADERS });
  const copy = await lab.admin.take(lab.queue);
  assert.equal(bodyOf(copy), B1);
  assert.deepEqual(propertiesOf(copy), { ...PROPERTIES, deliveryMode: 2 });
  assert.deepEqual(headersOf(copy), { ...HEADERS, ...CONTRACT });
});

it("a retry copy of a bare message has the whole projection", async (lab) => {
  await failOnce(lab, B0, {});
  const copy = await lab.admin.take(lab.queue);
  assert.deepEqual(propertiesOf(copy), {
    type: U,
    correlationId: TR,
    messageId: ID,
    appId: "babelqueue",
    contentType: "application/json",
    contentEncoding: "utf-8",
    deliveryMode: 2,
  });
  assert.deepEqual(headersOf(copy), CONTRACT);
});

it("a released message goes back with its bytes and everything beside them", async (lab) => {
  const { bq } = lab.app({ onUnknownUrn: "release" });
  const body = B0.replace('"data":', '"data" : ');
  await lab.admin.declare(lab.queue);
  await lab.admin.put(lab.queue, body, { ...PROPERTIES, headers: HEADERS });
  await bq.consume({ maxMessages: 1 });
  await bq.close();
  const again = await lab.admin.take(lab.queue);
  assert.equal(bodyOf(again), body);
  assert.deepEqual(propertiesOf(again), { ...PROPERTIES, deliveryMode: 2 });
  assert.deepEqual(headersOf(again), { ...HEADERS, ...CONTRACT, "x-attempts": 0 });
});

it("a delayed retry waits in a delay queue, and comes back with everything but its expiration", async (lab) => {
  const { admin, queue } = lab;
  await failOnce(lab, B0, { ...PROPERTIES, headers: HEADERS }, new RetryAfterError(700));
  assert.equal(await admin.count(queue), 0);
  const startedMs = performance.now();
  await eventually(async () => await admin.count(queue) === 1);
  assert.ok(performance.now() - startedMs >= 200, "it waits");
  const { expiration, ...rest } = PROPERTIES;
  const back = await admin.take(queue);
  assert.equal(bodyOf(back), B1);
  assert.deepEqual(propertiesOf(back), { ...rest, deliveryMode: 2 });
  const { "x-death": deaths, "x-first-death-exchange": _, ...headers } = headersOf(back);
  assert.deepEqual(headers["x-first-death-queue"], delayQueueOf(queue, 1_000));
  assert.equal(
    (deaths as { "original-expiration": string }[])[0]!["original-expiration"],
    expiration,
  );
});

it("after a delay the next copy has the expiration again, and none of the broker's records", async (lab) => {
  const { app, admin, queue } = lab;
  await failOnce(lab, B0, { ...PROPERTIES, headers: { tenant: "7" } }, new RetryAfterError(1));
  await eventually(async () => await admin.count(queue) === 1);
  const { bq } = app({ maxAttempts: 9 });
  const seen: Record<string, string>[] = [];
  bq.handle(U, (_, ctx) => {
    seen.push({ ...ctx.headers });
    throw new Error("boom");
  });
  await bq.consume({ maxMessages: 1 });
  await bq.close();
  assert.deepEqual(seen, [{ tenant: "7" }]);
  const copy = await admin.take(queue);
  assert.equal(copy.properties.expiration, PROPERTIES.expiration);
  assert.deepEqual(headersOf(copy), { tenant: "7", ...CONTRACT, "x-attempts": 2 });
});

it("a message that says it died here before is not dropped on its way back from a delay queue", async (lab) => {
  const { admin, queue } = lab;
  // The broker drops a message that comes to a queue of its own record in which nothing was rejected.
  const death = {
    queue,
    reason: "expired",
    count: 1,
    exchange: "",
    "routing-keys": [queue],
    time: { "!": "timestamp", value: 1_760_000_000 },
  };
  await failOnce(lab, B0, { headers: { "x-death": [death] } }, new RetryAfterError(1));
  await eventually(async () => await admin.count(queue) === 1);
});

it("a copy goes to its queue alone, whatever further recipients the original had", async (lab) => {
  const { admin, queue } = lab;
  const other = admin.queue();
  await admin.declare(other);
  await failOnce(lab, B0, { headers: { CC: [other], BCC: [other] } });
  // Both name it, and a queue gets a message once: the original.
  assert.equal(await admin.count(other), 1);
  assert.equal(await admin.count(queue), 1);
});

it("a message with a user's name on it is retried, with the name where it is ours", async (lab) => {
  await failOnce(lab, B0, { userId: "guest" });
  assert.equal((await lab.admin.take(lab.queue)).properties.userId, "guest");
});

it("a dead-letter record has the whole projection and what the original had beside it, and never expires", async (lab) => {
  const { app, admin, queue } = lab;
  const { bq } = app({ deadLetter: true, maxAttempts: 1 });
  bq.handle(U, () => {
    throw new Error("boom");
  });
  await admin.declare(queue);
  const headers = { ...HEADERS, "bq-replay-bypass": "1" };
  await admin.put(queue, B0, { ...PROPERTIES, headers });
  await bq.consume({ maxMessages: 1 });
  const record = await admin.take(`${queue}.dlq`);
  assert.deepEqual(propertiesOf(record), {
    type: U,
    correlationId: TR,
    messageId: ID,
    appId: "babelqueue",
    contentType: "application/json",
    contentEncoding: "utf-8",
    deliveryMode: 2,
    timestamp: PROPERTIES.timestamp,
    priority: PROPERTIES.priority,
    replyTo: PROPERTIES.replyTo,
  });
  assert.deepEqual(headersOf(record), { ...HEADERS, ...CONTRACT });
});

/** A readable envelope, but for its version; nobody counts by what it says of its attempts. */
const NEWER = B0.replace('"schema_version":1', '"schema_version":2')
  .replace('"attempts":0', '"attempts":5');
const NEWER_SLOTS = { "x-schema-version": 2, "x-source-lang": "go" };

for (
  const [what, body, beside, messageId, slots] of [
    ["cannot be read", "not json", { "x-attempts": 2 }, PROPERTIES.messageId, {}],
    ["is newer", NEWER, { "x-attempts": 2 }, ID, NEWER_SLOTS],
    ["is newer and was not counted", NEWER, {}, ID, { "x-attempts": 0, ...NEWER_SLOTS }],
    ["has no possible count", NEWER, { "x-attempts": -5 }, ID, { ...NEWER_SLOTS, "x-attempts": 0 }],
  ] as const
) {
  it(`a record of what ${what} says what the original said, the count included`, async ({ app, admin, queue }) => {
    const { bq } = app({ deadLetter: true });
    await admin.declare(queue);
    await admin.put(queue, body, { ...PROPERTIES, headers: { ...beside, tenant: "7" } });
    await bq.consume({ maxMessages: 1 });
    const record = await admin.take(`${queue}.dlq`);
    const headers = headersOf(record);
    assert.equal(JSON.parse(bodyOf(record)).dead_letter.attempts, headers["x-attempts"]);
    assert.equal(record.properties.messageId, messageId);
    assert.equal(record.properties.expiration, undefined);
    assert.deepEqual(headers, { tenant: "7", ...beside, ...slots });
  });
}

it("headers that this client cannot write again are left out, the texts stay, and that is told", async (lab) => {
  const { app, admin, queue } = lab;
  const { bq, seen } = app({ maxAttempts: 3 });
  bq.handle(U, () => {
    throw new Error("boom");
  });
  await admin.declare(queue);
  // A table with this name in it is the client's own notation for a type; an inherited one is written.
  const hostile = { tenant: "7", trap: Object.create({ "!": "no such type" }) };
  await admin.put(queue, B0, { headers: hostile });
  await bq.consume({ maxMessages: 1 });
  await bq.close();
  const copy = await admin.take(queue);
  assert.deepEqual(headersOf(copy), { tenant: "7", ...CONTRACT });
  assert.equal(bodyOf(copy), B1);
  const [warning] = seen.of("warning").filter(({ message }) => /headers_lost/.test(message));
  assert.match(warning!.message, /without the headers that cannot be written/);
});

test("a timestamp that has lost its digits is left out, since the client does not write it again", () => {
  const original = (timestamp: number): RabbitMessage => ({
    content: new Uint8Array(),
    fields: { deliveryTag: 1, exchange: "", routingKey: "q" },
    properties: { timestamp, priority: 4 },
  });
  const body = new TextEncoder().encode(B0);
  const carriedOn = (timestamp: number): RabbitProperties =>
    copyProperties(original(timestamp), body, 1, undefined);
  assert.equal(carriedOn(2 ** 64).timestamp, undefined);
  assert.equal(carriedOn(2 ** 64).priority, 4);
  assert.equal(carriedOn(Number.MAX_SAFE_INTEGER).timestamp, Number.MAX_SAFE_INTEGER);
  assert.equal(carriedOn(0).timestamp, 0);
});

it("handlers see foreign headers as texts; what is no text travels unseen", async (lab) => {
  const { bq } = lab.app();
  const seen: Record<string, string>[] = [];
  bq.handle(U, (_, ctx) => void seen.push({ ...ctx.headers }));
  await lab.admin.declare(lab.queue);
  await lab.admin.put(lab.queue, B0, { headers: { ...HEADERS, bytes: Buffer.from("grün") } });
  await bq.consume({ maxMessages: 1 });
  assert.deepEqual(seen, [{
    text: "größe 7",
    integer: "7",
    long: "1099511627776",
    double: "0.5",
    yes: "true",
    bytes: "grün",
  }]);
});

it("what continues a message elsewhere keeps its headers and gets a new projection; verbatim keeps all", async (lab) => {
  const { admin, queue } = lab;
  const { transport } = await lab.open();
  const target = admin.queue();
  await admin.declare(queue);
  const headers = { tenant: "7", n: 5, "x-attempts": 9 };
  await admin.put(queue, B0, { ...PROPERTIES, headers });
  const { signal } = new AbortController();
  const subscription = await transport.subscribe(queue, {
    prefetch: 1,
    intake: signal,
    lost: () => {},
  });
  const [delivery] = await subscription.receive(1, 10_000);
  const body = new TextEncoder().encode(B1);
  await transport.publish(target, [
    { body, from: delivery!, headers: { tenant: "8" } },
    { body, from: delivery!, verbatim: true },
  ]);
  await subscription.settle(delivery!, { kind: "ack" });
  const continued = await admin.take(target);
  assert.deepEqual(headersOf(continued), { tenant: "8", n: 5, ...CONTRACT });
  assert.equal(continued.properties.type, U);
  assert.equal(continued.properties.priority, 4);
  const verbatim = await admin.take(target);
  assert.deepEqual(headersOf(verbatim), headers);
  assert.deepEqual(propertiesOf(verbatim), { ...PROPERTIES, deliveryMode: 2 });
});

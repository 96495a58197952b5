/** Worked cases of the contract on the legacy layout: V201 to V223. */

import assert from "node:assert/strict";
import { BabelQueue, type Delivery, reemit } from "@bq/core";
import { redis } from "@bq/redis";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { B0, b0, B1, TP } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { Lab, type LabOptions, text, utf8 } from "./lab.ts";
import { TokenPin } from "./token_pin.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const NOW = 1_760_000_000;
const T1 = "0123456789abcdef0123456789abcdef";
const T2 = "fedcba9876543210fedcba9876543210";
const FB0 = JSON.stringify({ __bq_frame: 1, headers: { traceparent: TP }, body: B0 });

function vector(
  name: string,
  run: (lab: Lab, tokens: TokenPin) => Promise<void>,
  options: Partial<LabOptions> = {},
): void {
  test(name, async () => {
    const tokens = new TokenPin();
    const lab = await Lab.open(broker().port, {
      layout: "legacy",
      bytes: tokens.bytes,
      ...options,
    });
    try {
      await run(lab, tokens);
    } finally {
      await lab.close();
    }
  }, { ignore });
}

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);

async function ack(lab: Lab, delivery: Delivery): Promise<string> {
  return await (await lab.subscription()).settle(delivery, { kind: "ack" });
}

async function retry(lab: Lab, delivery: Delivery, attempts: number): Promise<string> {
  const body = reemit(delivery.body, { attempts });
  return await (await lab.subscription()).settle(
    delivery,
    { kind: "retry", body, attempts, delayMs: 60_000 },
  );
}

async function deadLetter(lab: Lab, delivery: Delivery, record: string): Promise<string> {
  return await (await lab.subscription()).settle(delivery, {
    kind: "deadLetter",
    record: bytes(record),
    queue: lab.transport.policy.deadLetterQueue(lab.queue),
    reason: "failed",
  });
}

vector("V201 a publish appends the body, framed when there are headers", async (lab) => {
  const headers = { traceparent: TP };
  await lab.transport.publish(lab.queue, [{ body: bytes(B0) }, { body: bytes(B0), headers }]);
  assert.deepEqual((await lab.look()).ready, [B0, FB0]);
  assert.equal(FB0.length, 388);
});

vector("V202 a delayed publish is refused and writes nothing", async (lab) => {
  const messages = [{ body: bytes(B0) }, { body: bytes(B0), delayMs: 1 }];
  await assert.rejects(lab.transport.publish(lab.queue, messages), { code: "unsupported" });
  assert.deepEqual((await lab.look()).ready, []);
});

vector("V203 a reserve moves the job and writes its deadline", async (lab) => {
  await lab.put({ ready: [B0] });
  lab.now = NOW + 0.9;
  const delivery = await lab.reserveOne();
  assert.equal(text(delivery.body), B0);
  const { ready, processing, deadlines } = await lab.look();
  assert.deepEqual(ready, []);
  assert.deepEqual(processing, [B0]);
  assert.match(deadlines[0]!.member, /^[0-9a-f]{32}:/);
  assert.deepEqual(deadlines.map(({ member, score }) => [member.slice(33), score]), [
    [B0, NOW + 90],
  ]);
});

vector("V205 a reserve on an empty queue writes nothing", async (lab) => {
  assert.deepEqual(await lab.reserve(5), []);
  const { processing, deadlines } = await lab.look();
  assert.deepEqual([processing, deadlines], [[], []]);
});

vector("V206 first in, first out", async (lab) => {
  await lab.put({ ready: [B0, "X", "Y"] });
  assert.equal(text((await lab.reserveOne()).body), B0);
  assert.deepEqual((await lab.reserve(5)).map(({ body }) => text(body)), ["X", "Y"]);
  assert.deepEqual((await lab.look()).processing, [B0, "X", "Y"]);
});

vector("V207 the second ack touches nothing", async (lab) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  assert.equal(await ack(lab, delivery), "settled");
  const { processing, deadlines } = await lab.look();
  assert.deepEqual([processing, deadlines], [[], []]);
  assert.equal(await ack(lab, delivery), "expired");
});

vector("V209 a late ack leaves another worker's identical copy", async (lab, tokens) => {
  const late = await tokens.reserve(lab, T1, B0);
  await lab.put({
    processing: [B0],
    deadlines: [{ member: `${T2}:${B0}`, score: NOW + 90 }],
  });
  const before = await lab.look();
  assert.equal(await ack(lab, late), "expired");
  assert.deepEqual(await lab.look(), before);
});

vector("V210 malformed members only lose their deadline", async (lab) => {
  const malformed = [`zz:${B0}`, `${T1}${B0}`, `${T1.slice(1)}:${B0}`];
  await lab.put({
    processing: [B0],
    deadlines: malformed.map((member) => ({ member, score: 1 })),
  });
  await lab.migrate();
  assert.deepEqual(await lab.look(), {
    ...EMPTY,
    processing: [B0],
  });
});

vector("V210 the characters of a token are not looked at", async (lab) => {
  const token = "Z".repeat(32);
  await lab.put({ processing: [B0], deadlines: [{ member: `${token}:${B0}`, score: 1 }] });
  await lab.migrate();
  assert.deepEqual(await lab.look(), { ...EMPTY, ready: [B0] });
});

vector("V211 an orphan is removed and nothing comes of it", async (lab) => {
  await lab.put({ deadlines: [{ member: `${T1}:GONE`, score: 1 }] });
  await lab.migrate();
  assert.deepEqual(await lab.look(), EMPTY);
});

vector("V213 the batch size bounds one sweep", async (lab) => {
  const members = ["a", "b", "c"];
  await lab.put({
    processing: members,
    deadlines: members.map((raw, at) => ({ member: `${T1}:${raw}`, score: at + 1 })),
  });
  const back: number[] = [];
  for (let n = 0; n < 3; n++) {
    await lab.migrate();
    back.push((await lab.look()).ready.length);
  }
  assert.deepEqual(back, [1, 2, 3]);
}, { migrationBatchSize: 1 });

vector("V214 a raw value begins behind the first colon", async (lab) => {
  await lab.put({ processing: ["a:b:c"], deadlines: [{ member: `${T1}:a:b:c`, score: 1 }] });
  await lab.migrate();
  assert.deepEqual((await lab.look()).ready, ["a:b:c"]);
});

vector("V215 a retry goes to the tail, whatever delay it has", async (lab) => {
  await lab.put({ ready: [B0, "X"] });
  const delivery = await lab.reserveOne();
  assert.equal(await retry(lab, delivery, 1), "settled");
  assert.deepEqual(await lab.look(), { ...EMPTY, ready: ["X", B1] });
});

vector("V215 a retry keeps its headers, a return keeps every byte", async (lab) => {
  const spaced = FB0.replace('"headers":', '"headers": ');
  await lab.put({ ready: [spaced] });
  const delivery = await lab.reserveOne();
  assert.deepEqual({ ...delivery.headers }, { traceparent: TP });
  assert.equal(text(delivery.body), B0);
  assert.equal(await (await lab.subscription()).settle(delivery, { kind: "return" }), "settled");
  assert.deepEqual((await lab.look()).ready, [spaced]);
  await retry(lab, await lab.reserveOne(), 1);
  const framed = JSON.stringify({ __bq_frame: 1, headers: { traceparent: TP }, body: B1 });
  assert.deepEqual((await lab.look()).ready, [framed]);
});

vector("V217 a record is written once, by whoever has the reservation", async (lab, tokens) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  assert.equal(await deadLetter(lab, delivery, '{"record":1}'), "settled");
  assert.deepEqual(await lab.records(), ['{"record":1}']);
  assert.deepEqual(await lab.look(), EMPTY);
  const late = await tokens.reserve(lab, T1, B0);
  assert.equal(await deadLetter(lab, late, '{"record":2}'), "expired");
  assert.deepEqual(await lab.records(), ['{"record":1}']);
});

for (
  const [label, set] of [
    ["by default", {}],
    ["with dead-lettering", { deadLetter: true }],
    ["where unknown URNs are deleted", { onUnknownUrn: "delete" }],
    ["with the queue opted out", { deadLetterQueue: null }],
  ] as const
) {
  test(`V218 poison becomes a record ${label}`, async () => {
    const lab = await Lab.open(broker().port, { layout: "legacy" });
    const bq = new BabelQueue(redis(broker().url), { queue: lab.queue, onEvent: () => {}, ...set });
    try {
      await bq.publishRaw(lab.queue, bytes("not json"));
      await bq.publishRaw(lab.queue, bytes('{"x":1}'), { headers: { tenant: "7" } });
      await bq.consume();
      const [plain, framed] = await lab.records();
      assert.match(plain!, /^\{"raw":"not json","dead_letter":\{"reason":"poison",/);
      const { __bq_frame, headers, body } = JSON.parse(framed!);
      assert.deepEqual([__bq_frame, headers], [1, { tenant: "7" }]);
      assert.match(body, /^\{"x":1,"dead_letter":\{"reason":"poison",/);
      assert.deepEqual(await lab.look(), EMPTY);
    } finally {
      await bq.close();
      await lab.close();
    }
  }, { ignore });
}

vector("V221 the operator's script puts back what has no deadline", async (lab) => {
  await lab.put({
    processing: [B0, "kept"],
    deadlines: [
      { member: `${T2}:${B0}`, score: Infinity },
      { member: `${T1}:GONE`, score: Infinity },
      { member: `${T1}:kept`, score: NOW + 90 },
    ],
  });
  assert.equal(await lab.transport.requeueUnexpiring(lab.queue), 2);
  assert.deepEqual(await lab.look(), {
    ...EMPTY,
    ready: [B0],
    processing: ["kept"],
    deadlines: [{ member: `${T1}:kept`, score: NOW + 90 }],
  });
});

vector("V222 10,000 tokens are 32 lowercase hex characters, none twice", async (lab) => {
  const bodies = Array.from({ length: 10_000 }, (_, at) => `job-${at}`);
  await lab.put({ ready: bodies });
  while ((await lab.reserve(500)).length > 0);
  const { deadlines } = await lab.look();
  const tokens = deadlines.map(({ member }) => member.slice(0, 33));
  assert.ok(tokens.every((token) => /^[0-9a-f]{32}:$/.test(token)));
  assert.equal(new Set(tokens).size, 10_000);
}, { batchSize: 500 });

vector("a token that the server did not use serves the next reservation", async (lab) => {
  const drawn: number[] = [];
  const pin = new TokenPin();
  const counted = await Lab.open(broker().port, {
    layout: "legacy",
    bytes: (length) => {
      drawn.push(length);
      return pin.bytes(length);
    },
  });
  try {
    for (let n = 0; n < 5; n++) assert.deepEqual(await counted.reserve(10), []);
    assert.deepEqual(drawn, [160]);
  } finally {
    await counted.close();
  }
  await lab.migrate();
});

vector("retryAfterMs null writes +inf, and that is never swept", async (lab) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  assert.equal(delivery.leaseUntilMs, undefined);
  assert.equal((await lab.look()).deadlines[0]!.score, Infinity);
  lab.now = 9_999_999_999;
  await lab.migrate();
  assert.deepEqual((await lab.look()).processing, [B0]);
  assert.equal((await lab.subscription()).extend, undefined);
  assert.equal(await ack(lab, delivery), "settled");
}, { retryAfterMs: null });

vector("bytes that are no UTF-8 pass through every step", async (lab) => {
  const raw = "\xff\x00\xfe:\x80";
  await lab.put({ ready: [raw] });
  const delivery = await lab.reserveOne();
  assert.equal(text(delivery.body), raw);
  lab.now = NOW + 90;
  assert.equal(text((await lab.reserveOne()).body), raw);
  assert.equal(await ack(lab, delivery), "expired");
});

vector("two copies of one message are two reservations", async (lab) => {
  await lab.put({ ready: [B0, B0] });
  const [first, second] = await lab.reserve(2);
  assert.equal(await ack(lab, first!), "settled");
  assert.deepEqual((await lab.look()).processing, [B0]);
  assert.equal(await ack(lab, second!), "settled");
  assert.deepEqual(await lab.look(), EMPTY);
});

vector("non-ASCII bodies keep their bytes inside a frame", async (lab) => {
  const body = b0({ data: '"data":{"name":"größe/\u2028✓"}' });
  await lab.transport.publish(lab.queue, [{ body: bytes(body), headers: { t: "ü" } }]);
  assert.deepEqual((await lab.look()).ready, [
    utf8(JSON.stringify({ __bq_frame: 1, headers: { t: "ü" }, body })),
  ]);
  assert.equal(text((await lab.reserveOne()).body), utf8(body));
});

const EMPTY: Awaited<ReturnType<Lab["look"]>> = {
  ready: [],
  processing: [],
  delayed: [],
  reserved: [],
  deadlines: [],
  notify: 0,
};

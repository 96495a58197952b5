/** Worked cases of the contract on the zset layout: V101 to V138. */

import assert from "node:assert/strict";
import { BabelQueue, type Delivery, reemit } from "@bq/core";
import { recorder } from "@bq/core/testing";
import { delayedScore, redis, zsetKeys } from "@bq/redis";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { B0, b0, B1, B2, TP } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { Lab, type LabOptions, latin, text, utf8 } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const NOW = 1_760_000_000;

/** A vector on a queue of its own; Laravel's exact members unless told otherwise. */
function vector(
  name: string,
  run: (lab: Lab) => Promise<void>,
  options: Partial<LabOptions> = {},
): void {
  test(name, async () => {
    const lab = await Lab.open(broker().port, { layout: "zset", reserve: "cjson", ...options });
    try {
      await run(lab);
    } finally {
      await lab.close();
    }
  }, { ignore });
}

const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);

async function retry(lab: Lab, delivery: Delivery, attempts: number): Promise<string> {
  return await (await lab.subscription()).settle(delivery, {
    kind: "retry",
    body: reemit(delivery.body, { attempts }),
    attempts,
    delayMs: 0,
  });
}

async function deadLetter(lab: Lab, delivery: Delivery, record: string): Promise<string> {
  return await (await lab.subscription()).settle(delivery, {
    kind: "deadLetter",
    record: bytes(record),
    queue: lab.transport.policy.deadLetterQueue(lab.queue),
    reason: "failed",
  });
}

vector("V101 a publish appends the body and one wake-up token", async (lab) => {
  await lab.transport.publish(lab.queue, [{ body: bytes(B0) }]);
  const { ready, notify } = await lab.look();
  assert.deepEqual(ready, [B0]);
  assert.equal(notify, 1);
});

vector("V102 headers are dropped without a word", async (lab) => {
  const headers = { traceparent: TP };
  const [outcome] = await lab.transport.publish(lab.queue, [{ body: bytes(B0), headers }]);
  assert.equal(outcome!.status, "confirmed");
  assert.deepEqual((await lab.look()).ready, [B0]);
});

test("V104 a delay is rounded up, now is rounded down", () => {
  assert.equal(delayedScore(NOW * 1_000, 200), NOW + 1);
  assert.equal(delayedScore(NOW * 1_000, 1_000), NOW + 1);
  assert.equal(delayedScore(NOW * 1_000, 1_010), NOW + 2);
});

vector("V105 a delayed member is due at its second and not before", async (lab) => {
  await lab.put({ delayed: [{ member: B0, score: NOW + 2 }] });
  lab.now = NOW + 1.999;
  assert.deepEqual(await lab.reserve(), []);
  assert.deepEqual((await lab.look()).delayed, [{ member: B0, score: NOW + 2 }]);
  lab.now = NOW + 2;
  assert.equal(text((await lab.reserveOne()).body), B0);
});

vector("V106 a pop gives the raw job and reserves it counted", async (lab) => {
  await lab.put({ ready: [B0], notify: 1 });
  lab.now = NOW + 0.9;
  const delivery = await lab.reserveOne();
  assert.equal(text(delivery.body), B0);
  const { ready, reserved, notify } = await lab.look();
  assert.deepEqual(ready, []);
  assert.equal(notify, 0);
  assert.equal(reserved[0]!.score, NOW + 90);
  const member = JSON.parse(reserved[0]!.member);
  assert.deepEqual(member, { ...JSON.parse(B0), attempts: 1, data: { id: 7, tags: {} } });
});

vector("V106 the spliced member differs from the job in its count alone", async (lab) => {
  await lab.put({ ready: [B0], notify: 1 });
  const delivery = await lab.reserveOne();
  assert.equal(text(delivery.body), B0);
  assert.deepEqual((await lab.look()).reserved, [{ member: B1, score: NOW + 90 }]);
}, { reserve: "splice" });

vector("V108 the second ack of a delivery is expired", async (lab) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  const subscription = await lab.subscription();
  assert.equal(await subscription.settle(delivery, { kind: "ack" }), "settled");
  assert.equal(await subscription.settle(delivery, { kind: "ack" }), "expired");
  assert.deepEqual((await lab.look()).reserved, []);
});

vector("V109 the member is settled as it was given, not as it would be made anew", async (lab) => {
  const body = b0({ data: '"data":{"id":7,"tags":[],"path":"a/b"}' });
  await lab.put({ ready: [body] });
  const delivery = await lab.reserveOne();
  const [member] = (await lab.look()).reserved;
  assert.notEqual(member!.member, body.replace('"attempts":0', '"attempts":1'));
  assert.equal(await (await lab.subscription()).settle(delivery, { kind: "ack" }), "settled");
});

vector("V110 a failure below the cap waits in :delayed, with its own bytes", async (lab) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  lab.now = NOW + 5.1;
  assert.equal(await retry(lab, delivery, 1), "settled");
  const { reserved, delayed } = await lab.look();
  assert.deepEqual(reserved, []);
  assert.deepEqual(delayed, [{ member: B1, score: NOW + 5 }]);
  assert.equal(text((await lab.reserveOne()).body), B1);
});

test("V112 three failures, then the record with both counts at 3", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  const seen = recorder();
  const bq = new BabelQueue(
    redis({ url: broker().url, layout: "zset" }),
    { queue: lab.queue, deadLetter: true, maxAttempts: 3, onEvent: seen },
  );
  try {
    const counts: [number, number][] = [];
    bq.handle("urn:babel:shop:paid", (_, ctx) => {
      counts.push([ctx.envelope.attempts, ctx.attempt]);
      throw new Error("fails always");
    });
    await bq.publishRaw(lab.queue, bytes(B0));
    await bq.consume();
    await bq.close();
    assert.deepEqual(counts, [[0, 1], [1, 2], [2, 3]]);
    const [record] = await lab.records();
    const { attempts, dead_letter } = JSON.parse(record!);
    assert.equal(attempts, 3);
    assert.equal(dead_letter.attempts, 3);
    assert.equal(await lab.server.call("LLEN", `${lab.deadLetterKey}:notify`), 1);
  } finally {
    await bq.close();
    await lab.close();
  }
}, { ignore });

vector("V113 a release whose reservation is gone writes nothing", async (lab) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  await lab.put({});
  assert.equal(await retry(lab, delivery, 1), "expired");
  assert.deepEqual((await lab.look()).delayed, []);
});

vector("V114 a record whose reservation is gone is not written", async (lab) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  await lab.put({});
  assert.equal(await deadLetter(lab, delivery, "{}"), "expired");
  assert.deepEqual(await lab.records(), []);
});

for (
  const [label, set] of [
    ["by default", {}],
    ["with dead-lettering", { deadLetter: true }],
    ["where unknown URNs are deleted", { onUnknownUrn: "delete" }],
    ["with the queue opted out", { deadLetterQueue: null }],
  ] as const
) {
  test(`V116, V136 poison becomes a record ${label}`, async () => {
    const lab = await Lab.open(broker().port, { layout: "zset", reserve: "cjson" });
    const bq = new BabelQueue(
      redis({ url: broker().url, layout: "zset", reserve: "cjson" }),
      { queue: lab.queue, onEvent: () => {}, ...set },
    );
    try {
      let calls = 0;
      bq.handle("urn:babel:shop:paid", () => void calls++);
      await bq.publishRaw(lab.queue, bytes("not json"));
      await bq.consume();
      assert.equal(calls, 0);
      const records = await lab.records();
      assert.equal(records.length, 1);
      assert.match(records[0]!, /^\{"raw":"not json","dead_letter":\{"reason":"poison",/);
      assert.deepEqual((await lab.look()).reserved, []);
    } finally {
      await bq.close();
      await lab.close();
    }
  }, { ignore });
}

/** Bodies of which the pop makes an equal pair: what the script cannot count is poison. */
const EQUAL_PAIRS: Readonly<Record<string, string>> = {
  "V116 text": "not json",
  "V117 an empty element": "",
  "V120 no attempts": b0({ attempts: "" }),
  "V120 attempts null": b0({ attempts: '"attempts":null' }),
  "V120 attempts true": b0({ attempts: '"attempts":true' }),
  "V120 attempts as text": b0({ attempts: '"attempts":"abc"' }),
  "V120 attempts as a list": b0({ attempts: '"attempts":[1]' }),
  "R36 attempts as a numeric text": b0({ attempts: '"attempts":"3"' }),
  "V121 a number beyond every double": b0({ data: '"data":{"n":1e400}' }),
  "V124 1,001 levels": `${'{"attempts":0,"a":'}${"[".repeat(1_000)}${"]".repeat(1_000)}}`,
  "V125 attempts that cjson prints as they are": '{"attempts":1e+17}',
  "V126 a header frame": JSON.stringify({ __bq_frame: 1, headers: { traceparent: TP }, body: B0 }),
  "R33 half a surrogate pair": b0({ data: '"data":{"n":"\\ud800"}' }),
};
for (const [label, body] of Object.entries(EQUAL_PAIRS)) {
  vector(`${label} is poison, and its member is the raw job`, async (lab) => {
    await lab.put({ ready: [utf8(body)] });
    const delivery = await lab.reserveOne();
    assert.equal(delivery.undecodable, true);
    assert.equal(text(delivery.body), utf8(body));
    assert.deepEqual((await lab.look()).reserved, [{ member: utf8(body), score: NOW + 90 }]);
    assert.equal(await deadLetter(lab, delivery, '{"record":1}'), "settled");
    assert.deepEqual(await lab.records(), ['{"record":1}']);
    assert.deepEqual((await lab.look()).reserved, []);
  });
}

vector("V118, V122 an unequal pair may be poison all the same", async (lab) => {
  await lab.put({ ready: ['{"x":1,"attempts":0}', '{"attempts":0x10}'] });
  for (const expected of ['{"x":1,"attempts":0}', '{"attempts":0x10}']) {
    const delivery = await lab.reserveOne();
    assert.equal(text(delivery.body), expected);
    const [reserved] = (await lab.look()).reserved;
    assert.notEqual(reserved!.member, expected);
    assert.equal(await deadLetter(lab, delivery, "{}"), "settled");
    assert.deepEqual((await lab.look()).reserved, []);
  }
});

vector("V124 999 levels are popped and counted", async (lab) => {
  const body = `{"attempts":0,"a":${"[".repeat(999)}${"]".repeat(999)}}`;
  await lab.put({ ready: [body] });
  assert.equal((await lab.reserveOne()).undecodable, undefined);
});

vector("V128 a recovered copy is cjson's, a retry copy is not", async (lab) => {
  const body = b0({ data: '"data":{"n":123456789012345}' });
  await lab.put({ ready: [body] });
  const delivery = await lab.reserveOne();
  assert.match((await lab.look()).reserved[0]!.member, /1\.2345678901234e\+14/);
  await retry(lab, delivery, 1);
  assert.match((await lab.look()).delayed[0]!.member, /"n":123456789012345\}/);
});

vector("V128 a recovered copy keeps its digits where it was spliced", async (lab) => {
  const body = b0({ data: '"data":{"n":123456789012345678,"m":1.0,"path":"a/b"}' });
  await lab.put({ ready: [body] });
  await lab.reserveOne();
  lab.now = NOW + 90;
  const again = await lab.reserveOne();
  assert.equal(text(again.body), body.replace('"attempts":0', '"attempts":1'));
}, { reserve: "splice" });

vector("V129 a migration moves what is due, in order, with a token each", async (lab) => {
  const due = Array.from({ length: 250 }, (_, at) => ({
    member: `item-${String(at).padStart(3, "0")}`,
    score: 1000 + (at % 3),
  }));
  const later = [{ member: "later", score: 1003 }, { member: "never", score: Infinity }];
  await lab.put({ delayed: [...due, ...later] });
  lab.now = 1002;
  await lab.migrate();
  const { ready, delayed, notify } = await lab.look();
  const sorted = due.toSorted((left, right) =>
    left.score - right.score || (left.member < right.member ? -1 : 1)
  );
  assert.deepEqual(ready, sorted.map(({ member }) => member));
  assert.deepEqual(delayed, later);
  assert.equal(notify, 250);
});

vector("V130 the batch size bounds one migration", async (lab) => {
  const due = Array.from({ length: 25 }, (_, at) => ({ member: `item-${at}`, score: 1000 }));
  await lab.put({ delayed: due });
  const moved: number[] = [];
  for (let n = 0; n < 3; n++) {
    await lab.migrate();
    moved.push((await lab.look()).ready.length);
  }
  assert.deepEqual(moved, [10, 20, 25]);
}, { migrationBatchSize: 10 });

vector("V133 a record that cannot be written leaves the member where it is", async (lab) => {
  await lab.put({ ready: [B0] });
  const delivery = await lab.reserveOne();
  const before = await lab.look();
  await lab.server.call("SET", lab.deadLetterKey, "no list");
  await assert.rejects(deadLetter(lab, delivery, "{}"), { code: "settle_write_failed" });
  assert.deepEqual(await lab.look(), before);
  await lab.server.call("DEL", lab.deadLetterKey);
  assert.equal(await deadLetter(lab, delivery, "{}"), "settled");
});

test("V134 a member that falls due while a worker blocks is received", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  const transport = redis({ url: broker().url, layout: "zset" });
  try {
    await transport.open({
      clock: { ...lab.clock, now: () => Date.now() },
      random: () => 0,
      bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
      emit: () => {},
    });
    await transport.publish(lab.queue, [{ body: bytes(B0), delayMs: 1_200 }]);
    const subscription = await transport.subscribe(lab.queue, {
      prefetch: 1,
      intake: new AbortController().signal,
      lost: () => {},
    });
    const [delivery] = await subscription.receive(1, 30_000);
    assert.equal(text(delivery!.body), B0);
    const log = await lab.server.text("INFO", "commandstats");
    assert.match(log, /cmdstat_blpop/);
    await subscription.settle(delivery!, { kind: "ack" });
  } finally {
    await transport.close();
    await lab.close();
  }
}, { ignore });

test("V136 an unknown URN under dead_letter is dropped where the queue is opted out", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  const bq = new BabelQueue(redis({ url: broker().url, layout: "zset" }), {
    queue: lab.queue,
    onUnknownUrn: "dead_letter",
    deadLetterQueue: null,
    onEvent: () => {},
  });
  try {
    await bq.publishRaw(lab.queue, bytes(B0));
    await bq.consume();
    assert.deepEqual(await lab.records(), []);
    assert.deepEqual((await lab.look()).reserved, []);
  } finally {
    await bq.close();
    await lab.close();
  }
}, { ignore });

test("V137 a hash tag keeps every key of a queue together, the dead-letter queue's too", () => {
  assert.deepEqual(zsetKeys("{shop}"), {
    ready: "queues:{shop}",
    delayed: "queues:{shop}:delayed",
    reserved: "queues:{shop}:reserved",
    notify: "queues:{shop}:notify",
  });
  const { deadLetterQueue } = redis({ layout: "zset" }).policy;
  assert.equal(zsetKeys(deadLetterQueue("{shop}")).ready, "queues:{shop}.dlq");
});

vector("bytes that are no UTF-8 pass through every step", async (lab) => {
  const body = '{"a":"\xff\x00\xfe","attempts":0}';
  await lab.put({ ready: [body] });
  const delivery = await lab.reserveOne();
  assert.equal(text(delivery.body), body);
  assert.equal(await (await lab.subscription()).settle(delivery, { kind: "return" }), "settled");
  assert.deepEqual((await lab.look()).delayed.map(({ member }) => member), [body]);
}, { reserve: "splice" });

vector("a batch reserves each job as a pop of one would", async (lab) => {
  const bodies = [B0, "not json", B2, b0({ attempts: '"attempts":9' }), `${B0} `];
  await lab.put({ ready: bodies, notify: 7 });
  const taken = await lab.reserve(10);
  assert.deepEqual(taken.map(({ body }) => text(body)), bodies);
  const { ready, reserved, notify } = await lab.look();
  assert.deepEqual(ready, []);
  assert.equal(notify, 2);
  assert.equal(reserved.length, 5);
  assert.ok(reserved.some(({ member }) => member.endsWith('"attempts":10}')));
  for (const delivery of taken) {
    assert.equal(await (await lab.subscription()).settle(delivery, { kind: "ack" }), "settled");
  }
  assert.deepEqual((await lab.look()).reserved, []);
}, { reserve: "splice" });

vector("what is not UTF-8 is sent and settled as the bytes it is", async (lab) => {
  await lab.transport.publish(lab.queue, [{ body: latin("\xff\x00\xfe\x80\n\r") }]);
  assert.deepEqual((await lab.look()).ready, ["\xff\x00\xfe\x80\n\r"]);
});

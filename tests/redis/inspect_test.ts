/** Looking at queues without touching them. */

import assert from "node:assert/strict";
import type { Peeked } from "@bq/core";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { B0, B1, B2, TP } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { Lab, text } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const FB0 = JSON.stringify({ __bq_frame: 1, headers: { traceparent: TP }, body: B0 });

async function peeked(lab: Lab, queue: string, max?: number): Promise<[string, string][]> {
  const seen: Peeked[] = [];
  const options = max === undefined ? {} : { max };
  for await (const one of lab.transport.peek(queue, options)) seen.push(one);
  return seen.map(({ state, body }) => [state, text(body)]);
}

test("peek() and size() show what waits, what is delayed and what is reserved, zset", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    await lab.put({
      ready: [B0, "not json"],
      delayed: [{ member: B1, score: 5 }],
      reserved: [{ member: B2, score: 6 }],
      notify: 2,
    });
    const before = await lab.look();
    assert.deepEqual(await lab.transport.size(lab.queue), { ready: 2, delayed: 1, inFlight: 1 });
    assert.deepEqual(await peeked(lab, lab.queue), [
      ["ready", B0],
      ["ready", "not json"],
      ["delayed", B1],
      ["inFlight", B2],
    ]);
    assert.deepEqual(await peeked(lab, lab.queue, 3), [
      ["ready", B0],
      ["ready", "not json"],
      ["delayed", B1],
    ]);
    assert.deepEqual(await lab.look(), before);
  } finally {
    await lab.close();
  }
}, { ignore });

test("peek() takes frames apart, legacy", async () => {
  const lab = await Lab.open(broker().port, { layout: "legacy" });
  try {
    await lab.put({ ready: [FB0], processing: [B1, FB0] });
    assert.deepEqual(await lab.transport.size(lab.queue), { ready: 1, delayed: 0, inFlight: 2 });
    assert.deepEqual(await peeked(lab, lab.queue), [
      ["ready", B0],
      ["inFlight", B1],
      ["inFlight", B0],
    ]);
    for await (const { headers } of lab.transport.peek(lab.queue, { max: 1 })) {
      assert.deepEqual({ ...headers }, { traceparent: TP });
    }
  } finally {
    await lab.close();
  }
}, { ignore });

for (const layout of ["legacy", "zset"] as const) {
  test(`a dead-letter queue is a queue like any other, ${layout}`, async () => {
    const lab = await Lab.open(broker().port, { layout });
    try {
      await lab.server.call("RPUSH", lab.deadLetterKey, "record 1", "record 2");
      const queue = lab.transport.policy.deadLetterQueue(lab.queue);
      assert.deepEqual(await lab.transport.size(queue), { ready: 2, delayed: 0, inFlight: 0 });
      assert.deepEqual(await peeked(lab, queue), [["ready", "record 1"], ["ready", "record 2"]]);
    } finally {
      await lab.close();
    }
  }, { ignore });

  test(`a long queue is looked at in pages, as far as was asked for, ${layout}`, async () => {
    const lab = await Lab.open(broker().port, { layout });
    try {
      const bodies = Array.from({ length: 250 }, (_, n) => `body ${n}`);
      await lab.put({ ready: bodies });
      assert.deepEqual((await peeked(lab, lab.queue)).length, 100);
      const all = await peeked(lab, lab.queue, 1_000);
      assert.deepEqual(all.map(([, body]) => body), bodies);
      assert.deepEqual(await peeked(lab, lab.queue, 0), []);
    } finally {
      await lab.close();
    }
  }, { ignore });
}

test("a queue that never was is empty", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    assert.deepEqual(await lab.transport.size("nowhere"), { ready: 0, delayed: 0, inFlight: 0 });
    assert.deepEqual(await peeked(lab, "nowhere"), []);
  } finally {
    await lab.close();
  }
}, { ignore });

test("a key of the wrong type is told", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    await lab.server.call("SET", lab.keys["ready"]!, "no list");
    await assert.rejects(lab.transport.size(lab.queue), /Cannot count .*WRONGTYPE/);
    await assert.rejects(peeked(lab, lab.queue), /Cannot peek at .*WRONGTYPE/);
  } finally {
    await lab.close();
  }
}, { ignore });

/** The view of JMS: what a client of the broker's own, which knows nothing of us, reads and sends. */

import assert from "node:assert/strict";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { B0, TP, TR, U } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { Jms } from "./jms/jms.ts";
import { bytes, inLab, type Lab, nativeText } from "./lab.ts";

const ignore = await absentArtemis({ own: true });
const broker = brokerOfFile(ignore, () => startArtemis({ own: true }));

function jms(name: string, work: (lab: Lab, client: Jms) => Promise<void>): void {
  test(name, () =>
    inLab(broker().url, async (lab) => {
      const client = await Jms.start(broker().port);
      try {
        await work(lab, client);
      } finally {
        await client.close();
      }
    }), { ignore });
}

jms(
  "a JMS consumer reads type, correlation id, time and text of what we publish",
  async (lab, client) => {
    const transport = await lab.transport();
    const headers = { traceparent: TP, "bq-replay-bypass": "1" };
    await transport.publish(lab.queue, [{ body: bytes(B0), headers }]);
    const message = await client.receive(lab.queue);
    assert.deepEqual(message, {
      class: "TextMessage",
      type: U,
      correlation: TR,
      timestamp: "1760000000123",
      deliveries: "1",
      text: B0,
      "property:bq_schema_version": "1",
      "property:bq_source_lang": "go",
      "property:bq_attempts": "0",
      "property:bq_app_id": "babelqueue",
      "property:traceparent": TP,
      "property:bq_replay_bypass": "1",
    });
  },
);

jms("a JMS consumer counts the deliveries that we failed", async (lab, client) => {
  const { bq } = lab.app({ maxAttempts: 5 });
  bq.handle(U, () => {
    throw new Error("fails");
  });
  await bq.publishRaw(lab.queue, bytes(B0));
  await bq.consume({ maxMessages: 2, waitMs: 5_000 });
  await bq.close();
  const { deliveries, text } = await client.receive(lab.queue);
  assert.deepEqual([deliveries, text], ["3", B0]);
});

jms("a JMS consumer reads a record and its text", async (lab, client) => {
  const { bq } = lab.app({ deadLetter: true, maxAttempts: 1 });
  bq.handle(U, () => {
    throw new Error("größe");
  });
  await bq.publishRaw(lab.queue, bytes(B0));
  await bq.consume({ maxMessages: 1, waitMs: 5_000 });
  const { type, correlation, text } = await client.receive(lab.dead);
  assert.deepEqual([type, correlation], [U, TR]);
  assert.equal(JSON.parse(text!).dead_letter.error, "größe");
});

jms("what a JMS producer sends is handled, its properties are headers", async (lab, client) => {
  const { bq, seen } = lab.app();
  const came: unknown[] = [];
  bq.handle(U, (data, ctx) => {
    came.push([data, ctx.attempt, ctx.traceId, { ...ctx.headers }, ctx.replay]);
  });
  await client.send(lab.queue, {
    type: U,
    correlation: "another",
    text: B0,
    properties: { tenant: "größe 7", bq_schema_version: "1", bq_replay_bypass: "1" },
  });
  await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  const headers = { tenant: "größe 7", "bq-replay-bypass": "1" };
  assert.deepEqual(came, [[{ id: 7, tags: [] }, 1, TR, headers, true]]);
  assert.equal(seen.of("warning").length, 0);
});

jms("a version that a JMS producer sets is gated", async (lab, client) => {
  const { bq } = lab.app({ deadLetter: true });
  const properties = { bq_schema_version: "2" };
  await client.send(lab.queue, { type: U, correlation: TR, text: B0, properties });
  assert.equal((await bq.consume({ maxMessages: 1, waitMs: 10_000 })).deadLettered, 1);
  const [record = {}] = await lab.peer.receive(lab.dead);
  assert.equal(nativeText(record), B0);
  assert.equal(record.application_properties?.["bq_schema_version"], "2");
});

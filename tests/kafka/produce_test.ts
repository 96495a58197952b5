/** What a publish puts on its topic, and how it is asked for. */

import assert from "node:assert/strict";
import { kafkajsClient, type KafkajsLike } from "@bq/kafka";
import { publishRecord } from "../../transports/kafka/project.ts";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { onBench } from "./bench.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());

test("a record is written with the time of its envelope", () => {
  const body = new TextEncoder().encode(B0);
  const place = { topic: "shop", tiersMs: [], nowMs: 7 };
  const { timestampMs } = publishRecord({ body }, undefined, place);
  assert.equal(timestampMs, JSON.parse(B0).meta.created_at);
});

test(
  "a record has the key as it was given: none, an empty one, text or bytes",
  () =>
    onBench(broker(), {}, async (bench) => {
      // One partition, so that they are read in their order.
      const queue = await bench.queue(1);
      const { bq } = bench.app(queue);
      const keys = [undefined, "", "c-77", new Uint8Array([0, 255])];
      for (const key of keys) await bq.publish(U, {}, key === undefined ? {} : { key });
      const records = await bench.lab.read(queue);
      assert.deepEqual(records.map(({ key }) => key && [...key]), [
        null,
        [],
        [...new TextEncoder().encode("c-77")],
        [0, 255],
      ]);
    }),
  { ignore },
);

test("kafkajs is asked for an idempotent producer, for all replicas, and once for a batch", async () => {
  const asked: unknown[] = [];
  const none = (): Promise<void> => Promise.resolve();
  const kafkajs = {
    producer({ idempotent }: { idempotent: boolean }) {
      asked.push({ idempotent });
      const send = ({ acks, messages }: { acks: number; messages: readonly unknown[] }) =>
        Promise.resolve(void asked.push({ acks, records: messages.length }));
      return { connect: none, disconnect: none, send };
    },
  } as unknown as KafkajsLike;
  const client = kafkajsClient(kafkajs);
  await client.connect();
  const record = { topic: "shop", key: null, value: null, headers: [], timestampMs: 0 };
  await client.send([record, record]);
  await client.close();
  assert.deepEqual(asked, [{ idempotent: true }, { acks: -1, records: 2 }]);
});

import { Buffer } from "node:buffer";
import kafkajs from "kafkajs";
import { BabelQueue } from "@bq/core";
import { bareData, bareMessage } from "./_bare_message.ts";
import { createTopics, kafka, kafkajsClient, type KafkajsLike } from "@bq/kafka";

/** What is produced or consumed. */
export interface KafkaLoad {
  readonly port: number;
  /** Messages in all. */
  readonly count: number;
  /** Characters of text in each. */
  readonly pad: number;
  /** Messages that are published at a time. */
  readonly batch: number;
  readonly partitions: number;
}

const URN = "urn:babel:bench:kafka";

/** Settings that both sides share. */
const GROUP = { sessionTimeout: 10_000, heartbeatInterval: 1_000, maxWaitTimeInMs: 100 };

function clientOf({ port }: KafkaLoad): kafkajs.Kafka {
  return new kafkajs.Kafka({ brokers: [`127.0.0.1:${port}`], logLevel: 0 });
}

async function freshTopic(on: KafkaLoad): Promise<string> {
  const topic = `bench-${crypto.randomUUID()}`;
  const client = kafkajsClient(clientOf(on) as unknown as KafkajsLike);
  await createTopics(client, [topic], { partitions: on.partitions });
  await client.close();
  return topic;
}

function appOf(on: KafkaLoad, queue: string): BabelQueue {
  const transport = kafka({
    url: `kafka://127.0.0.1:${on.port}`,
    groupId: crypto.randomUUID(),
    sessionTimeoutMs: GROUP.sessionTimeout,
    heartbeatIntervalMs: GROUP.heartbeatInterval,
    maxWaitMs: GROUP.maxWaitTimeInMs,
  });
  return new BabelQueue(transport, { queue, deadLetter: true, maxAttempts: 1, onEvent: () => {} });
}

/** Time of some work, as messages a second. */
async function rateOf(count: number, work: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await work();
  return count / (performance.now() - startMs) * 1_000;
}

/** Our publisher, with as many calls at a time as there are messages at hand. */
export function produceOurs(on: KafkaLoad): Promise<number> {
  return ours(
    on,
    (bq, batch) =>
      Promise.all(batch.map(({ message, data, key }) => bq.publish(message, data, { key }))),
  );
}

/** Our publisher, with as many messages in a call as are at hand. */
export function produceManyOurs(on: KafkaLoad): Promise<number> {
  return ours(on, (bq, batch) => bq.publishMany(batch));
}

interface Item {
  readonly message: string;
  readonly data: object;
  readonly key: string;
}

async function ours(
  on: KafkaLoad,
  publish: (bq: BabelQueue, batch: readonly Item[]) => Promise<unknown>,
): Promise<number> {
  const bq = appOf(on, await freshTopic(on));
  const data = { pad: "x".repeat(on.pad) };
  await bq.publish(URN, data, { key: "warm" });
  const rate = await rateOf(on.count, async () => {
    for (let sent = 0; sent < on.count; sent += on.batch) {
      await publish(
        bq,
        Array.from({ length: on.batch }, (_, n) => ({ message: URN, data, key: `${n}` })),
      );
    }
  });
  await bq.close();
  return rate;
}

/** A message as our publisher would make it, without one. */
function messageOf(pad: string, key: string): kafkajs.Message {
  const { id, traceId, createdAtMs, text } = bareMessage(URN, { pad });
  const headers = {
    "bq-job": URN,
    "bq-trace-id": traceId,
    "bq-message-id": id,
    "bq-schema-version": "1",
    "bq-source-lang": "node",
    "bq-attempts": "0",
  };
  return { key, value: Buffer.from(text), timestamp: `${createdAtMs}`, headers };
}

/** kafkajs alone, with as many calls of one message at a time as there are messages at hand. */
export function produceEachBare(on: KafkaLoad): Promise<number> {
  const each = (send: Send): Promise<unknown> =>
    Promise.all(Array.from({ length: on.batch }, (_, n) => send(n, n + 1)));
  return filled(on, each).then(({ rate }) => rate);
}

/** kafkajs alone, with as many messages in a call as are at hand. */
export function produceBare(on: KafkaLoad): Promise<number> {
  return filled(on).then(({ rate }) => rate);
}

/** Sends a part of the messages at hand in one call. */
type Send = (from: number, to: number) => Promise<unknown>;

/** A topic that kafkajs has filled, and how fast it did after a first message. */
async function filled(
  on: KafkaLoad,
  round: (send: Send) => Promise<unknown> = (send) => send(0, on.batch),
): Promise<{ topic: string; rate: number }> {
  const topic = await freshTopic(on);
  const producer = clientOf(on).producer({ idempotent: true });
  await producer.connect();
  const pad = "x".repeat(on.pad);
  const send: Send = (from, to) =>
    producer.send({
      topic,
      acks: -1,
      messages: Array.from({ length: to - from }, (_, n) => messageOf(pad, `${from + n}`)),
    });
  await send(0, 1);
  const rate = await rateOf(on.count, async () => {
    for (let sent = 0; sent < on.count; sent += on.batch) await round(send);
  });
  await producer.disconnect();
  return { topic, rate };
}

/** Our worker, from its first message to its last. */
export async function consumeOurs(on: KafkaLoad): Promise<number> {
  const bq = appOf(on, (await filled(on)).topic);
  const stopping = new AbortController();
  let handled = 0;
  let startMs = 0;
  let endMs = 0;
  bq.handle(URN, () => {
    if (handled === 0) startMs = performance.now();
    if (++handled !== on.count) return;
    endMs = performance.now();
    stopping.abort();
  });
  await bq.run({ concurrency: on.partitions, signal: stopping.signal });
  await bq.close();
  return on.count / (endMs - startMs) * 1_000;
}

/** kafkajs alone: parse, handle, commit each. */
export async function consumeBare(on: KafkaLoad): Promise<number> {
  const { topic } = await filled(on);
  const consumer = clientOf(on).consumer({ groupId: crypto.randomUUID(), ...GROUP });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const done = Promise.withResolvers<void>();
  let handled = 0;
  let startMs = 0;
  await consumer.run({
    autoCommit: false,
    partitionsConsumedConcurrently: on.partitions,
    async eachMessage({ topic, partition, message }) {
      if (handled === 0) startMs = performance.now();
      bareData(message.value!.toString());
      const offset = `${BigInt(message.offset) + 1n}`;
      await consumer.commitOffsets([{ topic, partition, offset }]);
      if (++handled === on.count) done.resolve();
    },
  });
  await done.promise;
  const rate = on.count / (performance.now() - startMs) * 1_000;
  await consumer.disconnect();
  return rate;
}

/** Questions about topics and groups: answered while leaders change, and whatever other topics do. */

import assert from "node:assert/strict";
import { kafka, type KafkaClient, kafkajsClient, platformaticClient } from "@bq/kafka";
import { fakeClock } from "@bq/core/testing";
import { type Clock, settledWithin, systemClock } from "@bq/core/transport";
import { context } from "../_context.ts";
import { awaitTopics } from "../../transports/kafka/_inspect.ts";
import { Questions } from "../../transports/kafka/clients/_kafkajs_admin.ts";
import type { KafkajsAdmin, KafkajsLike } from "../../transports/kafka/clients/_kafkajs_like.ts";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { onBench } from "./bench.ts";
import { kafkaOf } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());

/** An answer of the broker, as kafkajs throws it. */
function answer(type: string): Error {
  return Object.assign(new Error(type), { type });
}

/** A `Kafka` whose n-th admin client learns from its cluster what the n-th cache says. */
function remembering(caches: readonly Partial<KafkajsAdmin>[]): KafkajsLike & { made: number } {
  const kafka = {
    made: 0,
    consumer: () => ({}),
    producer: () => ({ connect: () => Promise.resolve(), disconnect: () => Promise.resolve() }),
    admin: () => ({
      connect: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      fetchTopicMetadata: ({ topics } = { topics: [] as string[] }) =>
        topics.length === 1
          ? Promise.resolve({ topics: [{ name: topics[0], partitions: [0] }] })
          : Promise.reject(answer("LEADER_NOT_AVAILABLE")),
      fetchOffsets: () => Promise.resolve([]),
      ...caches[Math.min(kafka.made++, caches.length - 1)],
    }),
  };
  return kafka as unknown as KafkajsLike & { made: number };
}

const moved: Partial<KafkajsAdmin> = {
  fetchTopicOffsets: () => Promise.reject(answer("NOT_LEADER_FOR_PARTITION")),
};
const found: Partial<KafkajsAdmin> = {
  fetchTopicOffsets: () => Promise.resolve([{ partition: 0, low: "2", high: "7" }]),
};

async function sizeOn(client: KafkajsLike): Promise<unknown> {
  const clock = fakeClock();
  const transport = kafka({ client });
  await transport.open(context({ clock }));
  const size = transport.size("shop").catch((error: unknown) => error);
  await clock.advance(20_000);
  await transport.close();
  return await size;
}

test("size() asks the new leader when a partition has moved, whatever the client remembers", async () => {
  const client = remembering([moved, moved, found]);
  assert.deepEqual(await sizeOn(client), { ready: 5, delayed: 0, inFlight: 0 });
  assert.ok(client.made >= 3, `${client.made} were made`);
});

test("size() says in the end that there is no leader", async () => {
  assert.match(String(await sizeOn(remembering([moved]))), /Cannot count 'shop': NOT_LEADER/);
});

test("size() does not ask again after an answer that stays", async () => {
  let asked = 0;
  const denied = (): Promise<never> => {
    asked++;
    return Promise.reject(answer("TOPIC_AUTHORIZATION_FAILED"));
  };
  const error = await sizeOn(remembering([{ fetchTopicOffsets: denied }]));
  assert.match(String(error), /Cannot count 'shop': TOPIC_AUTHORIZATION_FAILED/);
  assert.equal(asked, 1);
});

test("a broker that does not answer is told as such, not as a TypeError", async () => {
  const client = remembering([{
    fetchTopicMetadata: () => Promise.reject(new TypeError("of null")),
  }]);
  assert.match(String(await sizeOn(client)), /the topic 'shop': no broker answers/);
});

test("a question that is closed while its client connects or answers leaves no connection", async () => {
  for (const slow of ["connect", "fetchTopicMetadata"] as const) {
    const answering = Promise.withResolvers<never>();
    const did: string[] = [];
    const kafka = remembering([{
      disconnect: () => Promise.resolve(void did.push("disconnect")),
      [slow]: () => answering.promise,
    }]);
    const client = kafkajsClient(kafka);
    const asked = client.partitions(["shop"]);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    await client.close({ signal: AbortSignal.abort() });
    did.push("closed");
    // The client is used again meanwhile.
    await client.connect();
    answering.resolve({ topics: [] } as never);
    if (slow === "connect") await assert.rejects(asked, { code: "closed" });
    else assert.equal((await asked).size, 0);
    assert.deepEqual(did, ["disconnect", "closed", "disconnect"], slow);
    await client.close();
  }
});

test("a question without an answer holds up no other, and close() ends it", async () => {
  const never: Partial<KafkajsAdmin> = { fetchTopicMetadata: () => new Promise(() => {}) };
  const kafka = remembering([never, found]);
  const client = kafkajsClient(kafka);
  void client.partitions(["stuck"]);
  assert.equal((await client.partitions(["shop"])).get("shop"), 1);
  assert.equal((await client.ranges("shop")).length, 1);
  assert.equal(kafka.made, 2, "the one that answered is kept");
  const closed = client.close({ signal: AbortSignal.abort() });
  assert.ok(await settledWithin(closed, 900, systemClock), "it waits behind its signal");
});

/** A question whose answer is the test's to give, and what becomes of its client. */
function slowQuestion(clock: Clock) {
  const answering = Promise.withResolvers<void>();
  const did: string[] = [];
  const disconnect = (): Promise<void> => Promise.resolve(void did.push("disconnect"));
  const questions = new Questions(remembering([{ disconnect }]), clock);
  questions.ask(() => answering.promise.then(() => did.push("answer"))).catch(() => {});
  const close = async (signal?: AbortSignal): Promise<void> => {
    await questions.close(signal);
    did.push("closed");
  };
  return { did, close, answer: answering.resolve };
}

test("closing waits for the answer to a question under way, and disconnects then", async () => {
  const clock = fakeClock();
  const { did, close, answer } = slowQuestion(clock);
  const closed = close();
  await clock.advance(999);
  assert.deepEqual(did, []);
  answer();
  await closed;
  assert.deepEqual(did, ["answer", "disconnect", "closed"]);
});

test("closing waits for an answer no longer than its signal lets it, and never longer than 1 s", async () => {
  const clock = fakeClock();
  const aborted = slowQuestion(clock);
  await aborted.close(AbortSignal.abort());
  assert.deepEqual(aborted.did, ["disconnect", "closed"], "aborted before");

  const deadline = new AbortController();
  const amid = slowQuestion(clock);
  const ending = amid.close(deadline.signal);
  await clock.advance(999);
  assert.deepEqual(amid.did, [], "aborted amid");
  deadline.abort();
  await ending;
  assert.deepEqual(amid.did, ["disconnect", "closed"], "aborted amid");

  const late = slowQuestion(clock);
  const closed = late.close();
  await clock.advance(1_000);
  await closed;
  assert.deepEqual(late.did, ["disconnect", "closed"], "after a second");
});

const clients: Readonly<Record<string, () => KafkaClient>> = {
  "kafkajs": () => kafkajsClient(kafkaOf(broker())),
  "@platformatic/kafka": () =>
    platformaticClient({ bootstrapBrokers: [`127.0.0.1:${broker().port}`] }),
};

for (const [name, make] of Object.entries(clients)) {
  test(
    `${name}: topics are counted beside some that do not exist, and several at a time`,
    async () => {
      const client = make();
      await client.connect();
      const made = Array.from({ length: 4 }, (_, n) => ({
        topic: `t-${crypto.randomUUID()}`,
        partitions: n + 1,
        configs: {},
      }));
      try {
        await client.createTopics(made);

        await awaitTopics(client, made.map(({ topic }) => topic));
        const counts = await client.partitions(["absent", ...made.map(({ topic }) => topic), "no"]);
        assert.deepEqual(
          [...counts],
          made.map(({ topic, partitions }) => [topic, partitions]),
        );
        const ranges = await Promise.all(made.flatMap(({ topic }) => [
          client.ranges(topic),
          client.partitions([topic, "absent"]).then(() => client.ranges(topic)),
        ]));
        assert.deepEqual(ranges.map(({ length }) => length), [1, 1, 2, 2, 3, 3, 4, 4]);
      } finally {
        await client.close();
      }
    },
    // The second client keeps a timer for a while after it was closed.
    { ignore, sanitize: name === "kafkajs" },
  );
}

test(
  "size() counts a queue beside one whose topic was deleted",
  () =>
    onBench(broker(), {}, async (bench) => {
      const [gone, stays] = [await bench.queue(), await bench.queue()];
      const transport = await bench.open();
      await transport.size(gone);
      await transport.size(stays);
      await bench.lab.remove(gone);
      assert.deepEqual(await transport.size(stays), { ready: 0, delayed: 0, inFlight: 0 });
      assert.deepEqual(await transport.size(gone), { ready: 0, delayed: 0, inFlight: 0 });
    }),
  { ignore },
);

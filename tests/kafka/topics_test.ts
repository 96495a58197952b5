/** Topics of a queue: made, checked, counted; options and what they refuse. */

import assert from "node:assert/strict";
import { BabelQueueError } from "@bq/core";
import {
  checkTopics,
  createTopics,
  kafka,
  type KafkaClient,
  retryTopic,
  topicsFor,
  workTopicOf,
} from "@bq/kafka";
import { resolveOptions } from "../../transports/kafka/options.ts";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { B0 } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { onBench } from "./bench.ts";
import { fresh } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());
const retryTiersMs = [5_000, 30_000];

test("a queue has its topic, one a tier, and one for its dead letters", () => {
  const names = topicsFor("shop", { retryTiersMs, prefix: "p." }).map(({ topic }) => topic);
  assert.deepEqual(names, ["p.shop", "p.shop.retry.1", "p.shop.retry.2", "p.shop.dlq"]);
});

test("a tier's topic names its work topic, whatever dots that has", () => {
  assert.equal(workTopicOf("a.retry.1.retry.12"), "a.retry.1");
  for (const other of ["a", "a.retry", "a.retry.0", "a.retry.x", ".retry.1"]) {
    assert.equal(workTopicOf(other), null, other);
  }
});

test(
  "createTopics() makes what is missing, and checkTopics() then finds nothing",
  () =>
    onBench(broker(), {}, async ({ lab }) => {
      const queue = fresh();
      const before = await checkTopics(lab.client, [queue], { retryTiersMs });
      assert.deepEqual(before.map(({ code }) => code), Array(4).fill("missing"));
      await createTopics(lab.client, [queue], { retryTiersMs, partitions: 2 });
      await createTopics(lab.client, [queue], { retryTiersMs, partitions: 5 });
      await eventually(async () => {
        assert.deepEqual(await checkTopics(lab.client, [queue], { retryTiersMs }), []);
      });
      assert.equal((await lab.client.partitions([queue])).get(queue), 2);
    }),
  { ignore },
);

test("createTopics() waits until the broker knows of what it made", async () => {
  const notYet = Object.assign(new Error("no leader"), { type: "LEADER_NOT_AVAILABLE" });
  const notLeader = Object.assign(new Error("not me"), { type: "NOT_LEADER_FOR_PARTITION" });
  const denied = Object.assign(new Error("denied"), { type: "CLUSTER_AUTHORIZATION_FAILED" });
  const meet = async (...answers: readonly (number | Error)[]): Promise<number> => {
    const left = [...answers];
    // The second topic's leader has not heard of it at first.
    const leaders = [true, false, true, true];
    const client = {
      createTopics: () => Promise.resolve(),
      partitions(topics: readonly string[]) {
        const answer = left.shift()!;
        if (answer instanceof Error) return Promise.reject(answer);
        return Promise.resolve(new Map(topics.slice(0, answer).map((topic) => [topic, 1])));
      },
      ranges: () => leaders.shift() ? Promise.resolve([]) : Promise.reject(notLeader),
    };
    await createTopics(client as unknown as KafkaClient, ["orders"]);
    return left.length;
  };
  // The first answer is what was there before; a queue has two topics.
  assert.equal(await meet(0, 0, 1, notYet, 2, 2, 2), 1);
  await assert.rejects(meet(0, denied), /denied/);
});

test(
  "topics that would end a wait early or lose a record are found, and told at the start",
  () =>
    onBench(broker(), { retryTiersMs }, async (bench) => {
      const queue = await bench.queue();
      await bench.lab.configure([retryTopic(queue, 1)], {
        "message.timestamp.type": "CreateTime",
        "retention.ms": "30000",
      });
      const transport = await bench.open();
      const found = await transport.check(queue);
      assert.deepEqual(found.map(({ code }) => code), ["create_time", "retention"]);
      await bench.subscribe(queue, { transport });
      const warnings = (): string[] =>
        bench.events.flatMap((event) => event.type === "warning" ? [event.message] : []);
      await eventually(() => warnings().length === 2);
      assert.match(warnings()[0]!, /set message.timestamp.type=LogAppendTime/);
    }),
  { ignore },
);

test(
  "a topic that is compacted is found, whatever it is for",
  () =>
    onBench(broker(), { retryTiersMs }, async (bench) => {
      const queue = await bench.queue();
      const compacted = [queue, `${queue}.dlq`];
      await bench.lab.configure(compacted, { "cleanup.policy": "compact" });
      const found = await (await bench.open()).check(queue);
      assert.deepEqual(
        found.map(({ topic, code }) => [topic, code]),
        compacted.map((topic) => [topic, "compact"]),
      );
    }),
  { ignore },
);

test(
  "size() counts what waits on the tiers as delayed",
  () =>
    onBench(broker(), { retryTiersMs }, async (bench) => {
      const queue = await bench.queue();
      const transport = await bench.open();
      const body = new TextEncoder().encode(B0);
      await transport.publish(queue, [{ body }, { body, delayMs: 1 }, { body, delayMs: 30_000 }]);
      await eventually(async () => {
        const size = await transport.size(queue);
        assert.deepEqual(size, { ready: 1, delayed: 2, inFlight: 0 });
      });
    }),
  { ignore },
);

test("a URL names brokers, a user and TLS", () => {
  const { connection } = resolveOptions({ url: "kafka://me:p%40ss@one:1,two?ssl=true" });
  assert.deepEqual(connection, {
    brokers: ["one:1", "two:9092"],
    ssl: true,
    sasl: { mechanism: "plain", username: "me", password: "p@ss" },
  });
  const { connection: plain } = resolveOptions({});
  assert.deepEqual(plain, { brokers: ["localhost:9092"] });
});

test("options that cannot be meant are refused, each with its bound", () => {
  const refused: [object, RegExp][] = [
    [{ url: "redis://x" }, /'url'/],
    [{ url: "kafka://x/orders" }, /without a path/],
    [{ url: "kafka://x?acks=1" }, /url acks/],
    [{ url: "kafka://u:100%@h:9092" }, /its password is not percent-encoded/],
    [{ url: "kafka://[::1]:9092" }, /'url'/],
    [{ url: "kafka://h1,,h2" }, /'url'/],
    [{ url: "kafka://h:99999" }, /65535/],
    [{ url: "kafka://x", client: {} }, /together/],
    [{ client: {} }, /'client'/],
    [{ groupId: "" }, /'groupId'/],
    [{ reinject: true }, /'retryTiersMs'/],
    [{ retryTiersMs: [2, 1] }, /\[2, 1\]/],
    [{ heartbeatIntervalMs: 5, sessionTimeoutMs: 5 }, /below sessionTimeoutMs/],
    [
      { maxWaitMs: 5_000, heartbeatIntervalMs: 500, sessionTimeoutMs: 2_000 },
      /5000.*heartbeatIntervalMs, 500, below sessionTimeoutMs, 2000/,
    ],
    [{ maxWaitMs: 0 }, /'maxWaitMs'/],
    [{ tiers: [] }, /'tiers'/],
  ];
  for (const [options, message] of refused) {
    assert.throws(() => kafka(options), (error) => {
      assert.ok(error instanceof BabelQueueError, JSON.stringify(options));
      assert.match(error.message, message);
      return true;
    });
  }
});

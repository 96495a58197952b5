/** One client in more than one hand, and how it ends. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import {
  type ConnectionOptions,
  kafkajsClient,
  platformaticClient,
  RetryReinjector,
} from "@bq/kafka";
import { absentKafka, brokerOfFile, type Proxy, startKafka, startProxy } from "../brokers/mod.ts";
import { B0 } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { onBench } from "./bench.ts";
import { FAST, kafkaOf, text } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());
const body = new TextEncoder().encode(B0);

test(
  "a client that is shared stays open until the last one who works with it has ended",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue();
      const client = kafkajsClient(kafkaOf(broker()));
      const transport = await bench.open({ client });
      const stopping = new AbortController();
      const { reinjectGroupId } = bench;
      const options = { client, queues: [queue], retryTiersMs: [400], reinjectGroupId, ...FAST };
      const running = new RetryReinjector(options).run({ signal: stopping.signal });
      stopping.abort();
      await running;
      const [outcome] = await transport.publish(queue, [{ body }]);
      assert.equal(outcome?.status, "confirmed");
      await transport.close();
      await assert.rejects(
        client.send([{ topic: queue, key: null, value: body, headers: [], timestampMs: 0 }]),
        /closed/,
      );
      assert.equal((await bench.lab.read(queue)).length, 1);
    }),
  { ignore },
);

/** What of kafkajs' administration is used. */
interface Admin {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  setOffsets(options: object): Promise<void>;
  deleteTopicRecords(options: object): Promise<void>;
}

test(
  "where a group committed and nothing is any more, @platformatic/kafka goes on at the first record",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue(1);
      const values = Array.from({ length: 10 }, (_, n) => ({ value: `${n}` }));
      await bench.lab.write(queue, values);
      const admin = bench.lab.kafka.admin() as unknown as Admin;
      await admin.connect();
      const at = (offset: string): object[] => [{ partition: 0, offset }];
      await admin.setOffsets({ groupId: bench.groupId, topic: queue, partitions: at("2") });
      await admin.deleteTopicRecords({ topic: queue, partitions: at("5") });
      await admin.disconnect();
      const client = platformaticClient({ bootstrapBrokers: [`127.0.0.1:${broker().port}`] });
      const transport = await bench.open({ client });
      const subscription = await bench.subscribe(queue, { transport });
      assert.equal(text((await bench.one(subscription)).body), "5");
      await subscription.close();
    }),
  { ignore },
);

/** A broker behind a proxy that can fall silent. */
async function behindProxy(
  work: (proxy: Proxy, connection: ConnectionOptions) => Promise<void>,
): Promise<void> {
  const proxy = await startProxy(broker().port);
  const socketFactory = ({ onConnect }: { onConnect(): void }): unknown =>
    connect({ host: "127.0.0.1", port: proxy.port }, onConnect);
  try {
    await work(proxy, { socketFactory });
  } finally {
    await proxy.close();
  }
}

test(
  "of a transport whose broker does not answer no connection is left behind the deadline of close()",
  () =>
    behindProxy((proxy, connection) =>
      onBench(broker(), { connection }, async (bench) => {
        const queue = await bench.queue();
        const transport = await bench.open();
        await bench.subscribe(queue, { transport });
        proxy.stall();
        const published = transport.publish(queue, [{ body }]);
        published.catch(() => {});
        const deadline = new AbortController();
        const closed = transport.close({ signal: deadline.signal });
        await bench.lab.read(queue);
        deadline.abort();
        await closed;
        await eventually(() => proxy.connections === 0);
      })
    ),
  // kafkajs' own timers go on until it has tried as often as it does.
  { ignore, sanitize: false },
);

test(
  "a re-injector whose broker does not answer ends, and leaves no connection behind",
  () =>
    behindProxy((proxy, connection) =>
      onBench(broker(), {}, async (bench) => {
        const queue = await bench.queue();
        const stopping = new AbortController();
        const { reinjectGroupId } = bench;
        const running = new RetryReinjector({
          connection,
          url: broker().url,
          queues: [queue],
          retryTiersMs: [400],
          reinjectGroupId,
          ...FAST,
        }).run({ signal: stopping.signal });
        await eventually(() => proxy.connections > 1);
        proxy.stall();
        stopping.abort();
        await running;
        await eventually(() => proxy.connections === 0);
      })
    ),
  { ignore, timeoutMs: 90_000, sanitize: false },
);

/** Brokers that are not there or refuse, writes that fail, connections that are cut. */

import assert from "node:assert/strict";
import { connect } from "node:net";
import { BabelQueueError, ConnectionError } from "@bq/core";
import { kafka } from "@bq/kafka";
import { absentKafka, brokerOfFile, SASL_OFFSET, startKafka, startProxy } from "../brokers/mod.ts";
import { B0, B2, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { onBench } from "./bench.ts";
import { contextOf } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka({ sasl: true }));
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);

test("a broker that is not there makes open() reject, and it may be called again", async () => {
  const transport = kafka({ url: "kafka://127.0.0.1:1", connection: { retry: { retries: 0 } } });
  for (let turn = 0; turn < 2; turn++) {
    await assert.rejects(transport.open(contextOf()), (error) => {
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.fatal, false);
      return /Cannot connect to Kafka: /.test(error.message);
    });
  }
  await transport.close();
});

test("a password is sent, and a wrong one is fatal", async () => {
  const port = broker().port + SASL_OFFSET;
  const right = kafka(`kafka://test:test@127.0.0.1:${port}`);
  await right.open(contextOf());
  await right.close();
  const wrong = kafka(`kafka://test:nope@127.0.0.1:${port}`);
  await assert.rejects(wrong.open(contextOf()), (error) => {
    assert.ok(error instanceof ConnectionError);
    return error.fatal;
  });
  await wrong.close();
}, { ignore });

test(
  "while a record cannot be written its partition waits and the others go on",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue(2);
      await bench.lab.configure([`${queue}.dlq`], { "max.message.bytes": "1" });
      await bench.lab.write(queue, [
        { value: B2, partition: 0, headers: { "bq-attempts": "2" } },
        { value: B0, partition: 0 },
        { value: B0, partition: 1 },
        { value: B0, partition: 1 },
      ]);
      const { bq, seen } = bench.app(queue, { deadLetter: true });
      bq.handle(U, (_, ctx) => {
        if (ctx.attempt === 3) throw new Error("fails");
      });
      const stop = bench.work(bq);
      await seen.waitFor(() =>
        seen.of("writeFailed").length >= 2 && seen.of("handled").length >= 2
      );
      assert.equal(seen.of("handled").length, 2, "nothing behind the record went on");
      assert.equal(await bench.lab.committed(bench.groupId, queue), 2n);
      await bench.lab.configure([`${queue}.dlq`], { "max.message.bytes": "1048588" });
      await seen.waitFor(() =>
        seen.of("handled").length === 3 && seen.of("deadLettered").length === 1
      );
      await stop();
      assert.equal(await bench.lab.committed(bench.groupId, queue), 4n);
    }),
  { ignore },
);

test(
  "without tiers a failure holds its partition up, is told, and goes on with the next handler",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue(1);
      await bench.lab.write(queue, [{ value: B0 }, { value: B0 }]);
      const { bq, seen } = bench.app(queue, { deadLetter: true, maxAttempts: 3 });
      const attempts: number[] = [];
      bq.handle(U, (_, ctx) => {
        attempts.push(ctx.attempt);
        if (attempts.length <= 2) throw new Error("not yet");
      });
      const stop = bench.work(bq);
      await seen.waitFor(() => seen.of("handled").length === 2);
      await stop();
      // Nothing was written, so nothing was counted. Contract: K15, K25.
      assert.deepEqual(attempts, [1, 1, 1, 1]);
      assert.ok(seen.of("failed").length >= 2);
      assert.ok(seen.of("warning").some(({ code }) => code === "retry_impossible"));
    }),
  { ignore },
);

test(
  "a publish that is too large fails and says so, and the next one is written",
  () =>
    onBench(broker(), {}, async (bench) => {
      const queue = await bench.queue();
      const { bq } = bench.app(queue);
      const failed = bq.publishRaw(queue, new Uint8Array(2_000_000));
      await assert.rejects(failed, (error) => {
        assert.ok(error instanceof BabelQueueError);
        assert.equal(error.code, "publish_failed");
        return true;
      });
      await bq.publishRaw(queue, bytes(B0));
      assert.equal((await bench.lab.read(queue)).length, 1);
    }),
  { ignore },
);

test("a name that no topic can have is refused", () =>
  onBench(broker(), {}, async (bench) => {
    const transport = await bench.open();
    for (const name of ["", "a b", "ü", "a".repeat(250)]) {
      await assert.rejects(transport.publish(name, [{ body: bytes(B0) }]), BabelQueueError);
    }
  }), { ignore });

test("connections that are cut again and again lose nothing that was confirmed", async () => {
  const proxy = await startProxy(broker().port);
  const socketFactory = ({ onConnect }: { onConnect(): void }): unknown =>
    connect({ host: "127.0.0.1", port: proxy.port }, onConnect);
  try {
    await onBench(broker(), { connection: { socketFactory } }, async (bench) => {
      const queue = await bench.queue();
      const { bq, seen } = bench.app(queue, { deadLetter: true, maxAttempts: 1 });
      const handled = new Set<string>();
      bq.handle(U, (_, ctx) => {
        handled.add(ctx.messageId);
      });
      const stop = bench.work(bq);
      await seen.waitFor("started");
      const confirmed: string[] = [];
      for (let n = 0; n < 200; n++) {
        if (n % 40 === 20) proxy.cut();
        await bq.publish(U, { n }, { key: `${n}` }).then((id) => confirmed.push(id), () => {});
      }
      await eventually(() => confirmed.every((id) => handled.has(id)));
      assert.ok(confirmed.length >= 190, `${confirmed.length} were confirmed`);
      await stop();
    });
  } finally {
    await proxy.close();
  }
}, { ignore, timeoutMs: 120_000 });

/** How many calls the work of a queue takes, and how much one of them brings. */

import assert from "node:assert/strict";
import { BabelQueue, type Delivery, type Subscription } from "@bq/core";
import { redis, type RedisArgument, type RedisClient } from "@bq/redis";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { B0 } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { Lab, latin, randomBytes } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const LAYOUTS = ["legacy", "zset"] as const;
const body = (n: number, bytes = 0): string =>
  `{"job":"urn:a:b:c","data":{"n":${n},"pad":"${"x".repeat(bytes)}"},"attempts":0}`;

/** A client that counts its calls. */
class Counted implements RedisClient {
  readonly #inner: RespClient;
  calls: string[] = [];

  constructor(inner: RespClient) {
    this.#inner = inner;
  }

  call(args: readonly RedisArgument[]): Promise<never> {
    this.calls.push(String(args[0]));
    return this.#inner.call(...args) as Promise<never>;
  }
}

async function counted(
  layout: typeof LAYOUTS[number],
  options: { readonly batchSize?: number; readonly prefetch?: number },
  run: (lab: Lab, client: Counted, subscription: Subscription) => Promise<void>,
): Promise<void> {
  const lab = await Lab.open(broker().port, { layout });
  const connection = await RespClient.connect(broker().port);
  const client = new Counted(connection);
  const { batchSize = 64, prefetch = 10 } = options;
  const transport = redis({ client, layout, batchSize });
  try {
    await transport.open({ clock: lab.clock, random: () => 0, bytes: randomBytes, emit: () => {} });
    const subscription = await transport.subscribe(lab.queue, {
      prefetch,
      intake: new AbortController().signal,
      lost: () => {},
    });
    await run(lab, client, subscription);
  } finally {
    await transport.close();
    await lab.close();
    await connection.close();
  }
}

for (const layout of LAYOUTS) {
  test(`settles travel with the receive of the same tick, ${layout}`, async () => {
    await counted(layout, {}, async (lab, client, subscription) => {
      await lab.put({ ready: Array.from({ length: 9 }, (_, n) => body(n)) });
      let held: readonly Delivery[] = await subscription.receive(3, 0);
      client.calls = [];
      for (let n = 0; n < 2; n++) {
        const settling = held.map((delivery) => subscription.settle(delivery, { kind: "ack" }));
        held = await subscription.receive(3, 0);
        assert.deepEqual(await Promise.all(settling), ["settled", "settled", "settled"]);
      }
      assert.deepEqual(client.calls, ["EVALSHA", "EVALSHA"]);
    });
  }, { ignore });

  test(`an idle worker sends its settles at once, all in one call, ${layout}`, async () => {
    await counted(layout, {}, async (lab, client, subscription) => {
      await lab.put({ ready: Array.from({ length: 5 }, (_, n) => body(n)) });
      const held = await subscription.receive(5, 0);
      client.calls = [];
      await Promise.all(held.map((delivery) => subscription.settle(delivery, { kind: "ack" })));
      assert.deepEqual(client.calls, ["EVALSHA"]);
    });
  }, { ignore });

  test(`one call brings no more than about 256 KB, and always one message, ${layout}`, async () => {
    await counted(layout, {}, async (lab, _, subscription) => {
      const large = [body(0, 400_000), body(1, 120_000), body(2, 120_000), body(3, 120_000)];
      await lab.put({ ready: large });
      const sizes: number[][] = [];
      for (let n = 0; n < 3; n++) {
        sizes.push((await subscription.receive(10, 0)).map(({ body }) => body.length));
      }
      const lengths = large.map((one) => one.length);
      assert.deepEqual(sizes, [[lengths[0]], [lengths[1], lengths[2]], [lengths[3]]]);
    });
  }, { ignore });

  test(`batchSize bounds a call, and more lanes make up for it, ${layout}`, async () => {
    await counted(layout, { batchSize: 2, prefetch: 50 }, async (lab, _, subscription) => {
      assert.equal(subscription.lanes, 25);
      await lab.put({ ready: Array.from({ length: 5 }, (_, n) => body(n)) });
      assert.equal((await subscription.receive(5, 0)).length, 2);
    });
    await counted(layout, { prefetch: 1 }, (_lab, _client, subscription) => {
      assert.equal(subscription.lanes, 2);
      return Promise.resolve();
    });
  }, { ignore });

  test(`1,000 settles of one tick are settled, ${layout}`, async () => {
    await counted(layout, { batchSize: 1_000 }, async (lab, _, subscription) => {
      await lab.put({ ready: Array.from({ length: 1_000 }, (_, n) => body(n)) });
      const held = await subscription.receive(1_000, 0);
      assert.equal(held.length, 1_000);
      const answers = held.map((delivery, n) =>
        subscription.settle(delivery, n % 3 === 0 ? { kind: "return" } : { kind: "ack" })
      );
      assert.ok((await Promise.all(answers)).every((answer) => answer === "settled"));
      const { ready, processing, delayed, reserved, deadlines } = await lab.look();
      assert.deepEqual([processing, reserved, deadlines], [[], [], []]);
      assert.equal(ready.length + delayed.length, 334);
    });
  }, { ignore });

  test(`a worker with 1,000 messages makes far fewer calls than messages, ${layout}`, async () => {
    const lab = await Lab.open(broker().port, { layout });
    const connection = await RespClient.connect(broker().port);
    const client = new Counted(connection);
    const bq = new BabelQueue(redis({ client, layout }), { queue: lab.queue, deadLetter: true });
    const stop = new AbortController();
    try {
      let handled = 0;
      bq.handle("urn:babel:shop:paid", () => {
        if (++handled === 1_000) stop.abort();
      });
      for (let n = 0; n < 1_000; n++) {
        await lab.server.call(
          "RPUSH",
          lab.keys["ready"]!,
          latin(B0.replace('"id":7', `"id":${n}`)),
        );
      }
      client.calls = [];
      await bq.run({ concurrency: 50, signal: stop.signal });
      assert.equal(handled, 1_000);
      assert.ok(client.calls.length < 200, `${client.calls.length} calls`);
      const { ready, processing, reserved } = await lab.look();
      assert.deepEqual([ready, processing, reserved], [[], [], []]);
    } finally {
      await bq.close();
      await lab.close();
      await connection.close();
    }
  }, { ignore });

  test(`one publish of many messages is few calls, in order, ${layout}`, async () => {
    await counted(layout, {}, async (lab, _, __) => {
      const messages = Array.from({ length: 2_500 }, (_, n) => ({ body: latin(body(n)) }));
      const outcomes = await lab.transport.publish(lab.queue, messages);
      assert.ok(outcomes.every(({ status }) => status === "confirmed"));
      const { ready } = await lab.look();
      assert.deepEqual(ready, messages.map((_, n) => body(n)));
    });
  }, { ignore });
}

test("delayed and immediate messages of one publish each find their place", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    const messages = [0, 1, 2, 3].map((n) => ({ body: latin(body(n)), delayMs: n % 2 * 1_500 }));
    const outcomes = await lab.transport.publish(lab.queue, messages);
    assert.deepEqual(outcomes.map(({ status }) => status), Array(4).fill("confirmed"));
    const { ready, delayed, notify } = await lab.look();
    assert.deepEqual(ready, [body(0), body(2)]);
    assert.deepEqual(delayed, [1, 3].map((n) => ({ member: body(n), score: 1_760_000_002 })));
    assert.equal(notify, 2);
  } finally {
    await lab.close();
  }
}, { ignore });

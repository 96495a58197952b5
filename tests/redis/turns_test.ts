/** Batches that came together are handed over one a turn of the event loop. */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { Subscription } from "@bq/core";
import { redis, type RedisClient } from "@bq/redis";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { Lab, randomBytes, text } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const body = (n: number): string => `{"job":"urn:a:b:c","n":${n},"attempts":0}`;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Every answer waits until three are there, and then they come in one piece. */
class Together implements RedisClient {
  readonly #inner: RespClient;
  readonly #held: (() => void)[] = [];
  holding = false;
  sent = 0;

  constructor(inner: RespClient) {
    this.#inner = inner;
  }

  async call(args: Parameters<RedisClient["call"]>[0]): Promise<never> {
    this.sent++;
    const answer = await this.#inner.call(...args);
    if (this.holding) {
      await new Promise<void>((resolve) => {
        if (this.#held.push(resolve) === 3) { for (const go of this.#held.splice(0)) go(); }
      });
    }
    return answer as never;
  }
}

/** Three messages that wait, and a client that holds back what it is answered from now on. */
async function scene(
  layout: "legacy" | "zset",
  run: (lab: Lab, client: Together, subscription: Subscription) => Promise<void>,
): Promise<void> {
  const lab = await Lab.open(broker().port, { layout });
  const connection = await RespClient.connect(broker().port);
  const client = new Together(connection);
  const transport = redis({ client, layout });
  try {
    await transport.open({ clock: lab.clock, random: () => 0, bytes: randomBytes, emit: () => {} });
    const subscription = await transport.subscribe(lab.queue, {
      prefetch: 3,
      intake: new AbortController().signal,
      lost: () => {},
    });
    // The server knows the script then.
    await subscription.receive(1, 0);
    await lab.put({ ready: [0, 1, 2].map(body) });
    client.holding = true;
    client.sent = 0;
    await run(lab, client, subscription);
  } finally {
    await transport.close();
    await lab.close();
    await connection.close();
  }
}

for (const layout of ["legacy", "zset"] as const) {
  test(
    `what follows one batch is sent before the next one is handed over, ${layout}`,
    () =>
      scene(layout, async (_lab, client, subscription) => {
        const done: string[] = [];
        const receiving = [0, 1, 2].map(async () => {
          const [delivery] = await subscription.receive(1, 0);
          const name = text(delivery!.body);
          done.push(`got ${name}`);
          client.holding = false;
          await subscription.settle(delivery!, { kind: "ack" });
          done.push(`settled ${name}`);
        });
        while (done.length === 0) await turn();
        assert.deepEqual(done, [`got ${body(0)}`]);
        assert.equal(client.sent, 4, "its settle is on its way");
        await Promise.all(receiving);
        assert.deepEqual(
          done.filter((what) => what.startsWith("got")),
          [0, 1, 2].map((n) => `got ${body(n)}`),
        );
      }),
    { ignore },
  );
}

test(
  "a batch that waits for its turn when all is called off is given back",
  () =>
    scene("zset", async (lab, client, subscription) => {
      const receiving = [0, 1, 2].map(() => subscription.receive(1, 0));
      await receiving[0];
      client.holding = false;
      await subscription.close({ signal: AbortSignal.abort() });
      const results = await Promise.allSettled(receiving);
      assert.deepEqual(results.map(({ status }) => status), ["fulfilled", "rejected", "rejected"]);
      while ((await lab.look()).reserved.length > 1) await turn();
      assert.equal((await lab.look()).delayed.length, 2);
    }),
  { ignore },
);

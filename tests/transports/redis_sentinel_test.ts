import assert from "node:assert/strict";
import { BabelQueue, systemClock } from "@bq/core";
import { redis } from "@bq/redis";
import {
  absentRedis,
  aroundFile,
  RespClient,
  type RunningSentinel,
  startRedisSentinel,
} from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { freshQueue, randomBytes } from "../redis/lab.ts";

const URN = "urn:babel:orders:created";
/** The client gives its own connection to a Sentinel two seconds to end, and has a timer for that. */
const LET_GO_MS = 2_500;
const ignore = await absentRedis();
let sentinel: RunningSentinel | undefined;
if (!ignore) {
  aroundFile(
    async () => void (sentinel = await startRedisSentinel()),
    async () => await sentinel?.stop(),
  );
}

for (const layout of ["zset", "legacy"] as const) {
  test(`Sentinel: finds the master and works there, ${layout}`, async () => {
    const { port, name } = sentinel!;
    const connection = { sentinels: [{ host: "127.0.0.1", port }], name };
    const bq = new BabelQueue(redis({ connection, layout }), {
      queue: freshQueue(),
      onEvent: () => {},
    });
    let handled = 0;
    bq.handle(URN, () => void handled++);
    await bq.publish(URN, {});
    await bq.consume({ maxMessages: 1, waitMs: 20_000 });
    assert.equal(handled, 1);
    await bq.close();
    await systemClock.sleep(LET_GO_MS);
  }, { ignore });
}

test("Sentinel: a name that it does not know is told as the reason", async () => {
  const connection = {
    sentinels: [{ host: "127.0.0.1", port: sentinel!.port }],
    name: "nobody",
  };
  const transport = redis({ connection });
  await assert.rejects(
    transport.open({ clock: systemClock, random: () => 0, bytes: randomBytes, emit: () => {} }),
    { code: "connection", message: /Cannot connect to Redis: .*[Ss]entinel/ },
  );
  await transport.close();
  await systemClock.sleep(LET_GO_MS);
}, { ignore });

// The last test of the file: the master that it began with stays down.
test(
  "Sentinel: when the master dies the worker goes on with its replica, and nothing is lost",
  async () => {
    const { port, name, master, replica, masterPort } = sentinel!;
    const connection = { sentinels: [{ host: "127.0.0.1", port }], name };
    const queue = freshQueue();
    const transport = redis({ connection, layout: "zset", retryAfterMs: 2_000 });
    const bq = new BabelQueue(transport, { queue, onEvent: () => {} });
    const handled = new Set<unknown>();
    const { promise: dead, resolve } = Promise.withResolvers<void>();
    bq.handle(URN, async ({ n }) => {
      if (n === 1) await dead;
      handled.add(n);
    });
    const stop = new AbortController();
    const work = bq.run({ concurrency: 1, signal: stop.signal });
    await bq.publish(URN, { n: 1 });
    await bq.publish(URN, { n: 2 });
    await eventually(async () => (await transport.size(queue)).inFlight === 1);
    const server = await RespClient.connect(master.port);
    // A replica lags behind; what it does not have yet nobody could save.
    assert.equal(await server.call("WAIT", 1, 20_000), 1);
    await server.close();
    await master.kill();
    resolve();
    await eventually(async () => await masterPort() === replica.port);
    await eventually(() => handled.has(1) && handled.has(2));
    await eventually(() => bq.publish(URN, { n: 3 }));
    await eventually(() => handled.has(3));
    stop.abort();
    await work;
    const { ready, delayed, inFlight } = await transport.size(queue);
    assert.deepEqual([ready, delayed, inFlight], [0, 0, 0]);
    await bq.close();
  },
  { ignore, timeoutMs: 120_000 },
);

/** A user who may not run one of the scripts' commands: nothing is lost, and all goes on afterwards. */

import assert from "node:assert/strict";
import { BabelQueue, type BabelQueueOptions } from "@bq/core";
import { redis, type RedisOptions } from "@bq/redis";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis({ own: true }));

const URN = "urn:babel:orders:created";
const MESSAGES = 12;
/** Every command that a script takes something away with, or puts something somewhere with. */
const COMMANDS = ["rpush", "lrem", "ltrim", "lpos", "zadd", "zrem", "zremrangebyrank", "lmove"];

for (const layout of ["legacy", "zset"] as const) {
  for (const command of COMMANDS) {
    test(`a user who may not ${command} loses no message, ${layout}`, async () => {
      const { port } = broker();
      const queue = `forbidden-${command}`;
      const user = `${layout}-no-${command}`;
      const server = await RespClient.connect(port);
      const seen = new Set<number>();
      const app = (who: string): BabelQueue => {
        const transport: RedisOptions = {
          url: `redis://${who}127.0.0.1:${port}`,
          layout,
          retryAfterMs: 2_000,
        };
        const options: BabelQueueOptions = {
          queue,
          deadLetter: true,
          maxAttempts: 3,
          concurrency: 3,
          pollTimeoutMs: 100,
          shutdownTimeoutMs: 2_000,
          onEvent: () => {},
        };
        return new BabelQueue(redis(transport), options).handle(URN, (data) => {
          // A third of them fail once, so that retries are tried too.
          const id = data["n"] as number;
          if (id % 3 === 0 && !seen.has(id + 1_000)) {
            seen.add(id + 1_000);
            throw new Error("once");
          }
          seen.add(id);
        });
      };
      const admin = app("");
      try {
        await admin.publishMany(Array.from({ length: MESSAGES }, (_, n) => ({
          message: URN,
          data: { n },
          ...(layout === "zset" && n % 2 === 0 ? { delayMs: 1 } : {}),
        })));
        // Reserved and left: what is brought back when the reservation ends.
        const { signal } = new AbortController();
        const lost = (): void => {};
        const left = await admin.transport.subscribe(queue, { prefetch: 5, intake: signal, lost });
        await left.receive(5, 0);
        await server.call(
          "ACL",
          "SETUSER",
          user,
          "reset",
          "on",
          ">pw",
          "~*",
          "&*",
          "+@all",
          `-${command}`,
        );
        const restricted = app(`${user}:pw@`);
        const run = restricted.run().catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 3_500));
        await restricted.close();
        await run;
        const working = admin.run();
        await eventually(() =>
          Array.from({ length: MESSAGES }, (_, n) => n).every((n) => seen.has(n))
        );
        await eventually(async () => {
          const { ready, delayed, inFlight } = await admin.transport.size!(queue);
          return ready + delayed + inFlight === 0;
        });
        await admin.stop();
        await working;
        assert.equal((await admin.transport.size!(`${queue}.dlq`)).ready, 0);
      } finally {
        await admin.close();
        await server.call("ACL", "DELUSER", user);
        await server.close();
      }
    }, { ignore });
  }
}

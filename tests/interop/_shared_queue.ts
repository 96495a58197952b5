/** One worker of each on one queue: every message is handled. */

import assert from "node:assert/strict";
import { eventually } from "../harness.ts";
import type { InteropTest } from "./suite.ts";
import { URN } from "./_messages.ts";

const MESSAGES = 10_000;
const SLICE = 500;
const STOP = "urn:babel:shop:stop";
/** Every so manieth message fails on its first delivery, wherever that is. */
const FAIL_EVERY = 20;
/** Nothing expires meanwhile, in seconds. */
const RETRY_AFTER = 600;

export const sharedQueueTests: readonly InteropTest[] = [
  {
    title: `of ${MESSAGES} messages on a queue with a worker of each none is lost`,
    async run({ ours, peer, queue }) {
      const times: Map<number, number> = new Map();
      const count = (n: unknown): void =>
        void times.set(Number(n), (times.get(Number(n)) ?? 0) + 1);
      const publish = async (from: number): Promise<void> => {
        const items = Array.from({ length: SLICE }, (_, i) => ({
          message: URN,
          data: { n: from + i },
        }));
        await ours.withApp((bq) => bq.publishMany(items), { queue });
      };
      await publish(0);
      const theirs = peer.work({
        queue,
        urns: [URN],
        stop: STOP,
        idle: 120,
        failEvery: FAIL_EVERY,
        tries: 5,
        retryAfter: RETRY_AFTER,
      });
      // The peer has begun before we do, and we begin before the rest is there: both get a share.
      await eventually(async () => (await ours.state(queue)).ready.length < SLICE);
      let mine = 0;
      await ours.withApp(async (bq) => {
        bq.handle(URN, ({ n }, { attempt }) => {
          if (attempt === 1 && Number(n) % FAIL_EVERY === 0) throw new Error("asked to fail");
          mine++;
          count(n);
        });
        const run = bq.run();
        for (let from = SLICE; from < MESSAGES; from += SLICE) await publish(from);
        await eventually(() => ours.assertEmpty(queue), { timeoutMs: 240_000 });
        await bq.stop();
        await run;
      }, { queue, maxAttempts: 5, deadLetter: true, concurrency: 4 });
      await ours.withApp((bq) => bq.publish(STOP, {}), { queue });
      const { handled } = await theirs;
      for (const { data } of handled) count(data["n"]);
      const lost = Array.from({ length: MESSAGES }, (_, n) => n).filter((n) => !times.has(n));
      const duplicates = [...times.values()].filter((one) => one > 1).length;
      assert.deepEqual({ lost, duplicates }, { lost: [], duplicates: 0 });
      assert.ok(mine > 0 && handled.length > 0, `we handled ${mine}, the peer ${handled.length}`);
      await ours.assertEmpty(`${queue}.dlq`);
      await ours.assertEmpty(queue);
    },
  },
];

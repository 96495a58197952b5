/** Many messages with handlers that fail by chance: each ends once, in a handler or as a record. */

import assert from "node:assert/strict";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { inLab } from "./lab.ts";

const ignore = await absentRabbitmq({ own: true });
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const MESSAGES = 10_000;

for (const receive of ["consume", "get"] as const) {
  const count = receive === "consume" ? MESSAGES : MESSAGES / 10;
  test(
    `of ${count} messages by '${receive}' with random failures none is lost and none ends twice`,
    () =>
      inLab(broker(), async ({ app, admin, queue, transport }) => {
        const { bq, seen } = app(
          { maxAttempts: 3, deadLetter: true, concurrency: 50 },
          transport({ receive }),
        );
        const handled: Map<number, number> = new Map();
        bq.handle(U, async ({ n }, ctx) => {
          if (Math.random() < 0.1) await new Promise((resolve) => setTimeout(resolve, 1));
          // A third fails, and one in 27 at every of its three attempts.
          if (Math.random() < 1 / 3) throw new Error(`fails at attempt ${ctx.attempt}`);
          handled.set(Number(n), (handled.get(Number(n)) ?? 0) + 1);
        });
        const items = Array.from({ length: count }, (_, n) => ({ message: U, data: { n } }));
        await bq.publishMany(items, { timeoutMs: 120_000 });
        const stop = new AbortController();
        const run = bq.run({ signal: stop.signal });
        const dead = (): number => seen.of("deadLettered").length;
        await eventually(() => handled.size + dead() >= count, { timeoutMs: 120_000 });
        stop.abort();
        await run;
        assert.deepEqual([...handled.values()].filter((times) => times !== 1), []);
        assert.ok(dead() > 0 && seen.of("retried").length > count / 4);
        assert.equal(await admin.count(`${queue}.dlq`), dead());
        for (let left = dead(); left > 0; left--) {
          const { data } = JSON.parse((await admin.take(`${queue}.dlq`)).content.toString());
          assert.equal(handled.has(data.n), false, `${data.n} was handled and dead-lettered`);
          handled.set(data.n, 1);
        }
        assert.equal(handled.size, count);
        const table = await broker().ctl("list_queues", "name", "messages");
        assert.match(table, new RegExp(`^${queue}\\t0$`, "m"), "neither ready nor unsettled");
      }),
    { ignore, timeoutMs: 240_000 },
  );
}

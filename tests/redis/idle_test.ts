/** How an idle worker waits: blocked on the zset layout, polling on the other one. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "@bq/core";
import { redis } from "@bq/redis";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { type ClientKind, clientOf } from "./harness.ts";
import { freshQueue, Lab, randomBytes, text } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const BODY = new TextEncoder().encode('{"job":"urn:a:b:c","attempts":0}');

/** How often a client is blocked on the server right now. */
async function blocked(lab: Lab): Promise<number> {
  return (await lab.server.text("CLIENT", "LIST")).split("\n")
    .filter((line) => / cmd=blpop /.test(line)).length;
}

for (const client of ["own", "ioredis", "iovalkey", "node-redis"] as ClientKind[]) {
  test(`an idle worker blocks on a connection of its own, ${client}`, async () => {
    const lab = await Lab.open(broker().port, { layout: "zset" });
    const { given, close } = clientOf({ broker: broker(), layout: "zset", client });
    const transport = redis({ layout: "zset", ...given });
    const intake = new AbortController();
    try {
      await transport.open({
        clock: systemClock,
        random: () => 0,
        bytes: randomBytes,
        emit: () => {},
      });
      const subscription = await transport.subscribe(lab.queue, {
        prefetch: 1,
        intake: intake.signal,
        lost: () => {},
      });
      const waiting = subscription.receive(1, 600_000);
      await eventually(async () => assert.equal(await blocked(lab), 1));
      await lab.transport.publish(lab.queue, [{ body: BODY }]);
      const [delivery] = await waiting;
      assert.equal(text(delivery!.body), text(BODY));
      await subscription.settle(delivery!, { kind: "ack" });
      const idle = subscription.receive(1, 600_000);
      await eventually(async () => assert.equal(await blocked(lab), 1));
      intake.abort();
      assert.deepEqual(await idle, []);
      await subscription.close();
      await eventually(async () => assert.equal(await blocked(lab), 0));
    } finally {
      await transport.close();
      await close();
      await lab.close();
    }
  }, { ignore });
}

test("a client without a second connection polls", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  try {
    const waiting = (await lab.subscription()).receive(1, 600_000);
    await lab.transport.publish(lab.queue, [{ body: BODY }]);
    assert.equal((await waiting).length, 1);
    assert.equal(await blocked(lab), 0);
  } finally {
    await lab.close();
  }
}, { ignore });

/** A clock on which sleeping is all that takes time, and that tells how long. */
function counting(): { clock: Clock; slept: number[] } {
  const slept: number[] = [];
  let elapsed = 0;
  return {
    slept,
    clock: {
      now: () => 1_760_000_000_000 + elapsed,
      elapsed: () => elapsed,
      sleep: (ms) => {
        slept.push(ms);
        elapsed += ms;
        return Promise.resolve();
      },
    },
  };
}

test(
  "V223 polling grows from 100 to 1,000 ms, ends with its time, and begins anew after a message",
  async () => {
    const queue = freshQueue();
    const { given, close } = clientOf({ broker: broker(), layout: "legacy", client: "ioredis" });
    const transport = redis({ layout: "legacy", ...given });
    const { clock, slept } = counting();
    try {
      await transport.open({ clock, random: () => 0, bytes: randomBytes, emit: () => {} });
      const subscription = await transport.subscribe(queue, {
        prefetch: 1,
        intake: new AbortController().signal,
        lost: () => {},
      });
      assert.deepEqual(await subscription.receive(1, 5_000), []);
      assert.deepEqual(slept, [100, 200, 400, 800, 1000, 1000, 1000, 500]);
      // It goes on where it was: with short waits it would never be patient.
      await subscription.receive(1, 1_000);
      assert.deepEqual(slept.slice(8), [1000]);
      await transport.publish(queue, [{ body: BODY }]);
      const [delivery] = await subscription.receive(1, 1_000);
      await subscription.settle(delivery!, { kind: "ack" });
      await subscription.receive(1, 300);
      assert.deepEqual(slept.slice(9), [100, 200]);
    } finally {
      await transport.close();
      await close();
    }
  },
  { ignore },
);

test("a receive that filled its slots wakes the one that sleeps", async () => {
  const lab = await Lab.open(broker().port, { layout: "legacy" });
  const { given, close } = clientOf({ broker: broker(), layout: "legacy", client: "ioredis" });
  const transport = redis({ layout: "legacy", ...given });
  const sleeps: (() => void)[] = [];
  const sleep: Clock["sleep"] = (_, signal) =>
    new Promise((resolve) => {
      sleeps.push(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  try {
    const clock = { ...systemClock, sleep };
    await transport.open({ clock, random: () => 0, bytes: randomBytes, emit: () => {} });
    const subscription = await transport.subscribe(lab.queue, {
      prefetch: 2,
      intake: new AbortController().signal,
      lost: () => {},
    });
    const waiting = [subscription.receive(1, 600_000), subscription.receive(1, 600_000)];
    await eventually(() => sleeps.length === 1);
    for (let n = 0; n < 2; n++) await lab.server.call("RPUSH", lab.keys["ready"]!, BODY);
    // Of the sleeps only the first one ends; the second is cut short.
    sleeps[0]!();
    assert.equal((await Promise.all(waiting)).flat().length, 2);
  } finally {
    await transport.close();
    await close();
    await lab.close();
  }
}, { ignore });

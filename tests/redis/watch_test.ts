/** A server that takes everything and answers nothing. */

import assert from "node:assert/strict";
import { type Clock, systemClock } from "@bq/core";
import { redis } from "@bq/redis";
import { Watch } from "../../transports/redis/_watch.ts";
import { absentRedis, brokerOfFile, startProxy, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { freshQueue, latin, randomBytes } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());

/** A clock whose sleeps end when they are told to. */
function stepped(): { clock: Clock; slept: number[]; step(): Promise<void> } {
  const slept: number[] = [];
  let wake: () => void = () => {};
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) => {
      slept.push(ms);
      return new Promise((resolve) => {
        wake = resolve;
        signal?.addEventListener("abort", () => resolve(), { once: true });
      });
    },
  };
  const step = async (): Promise<void> => {
    wake();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  return { clock, slept, step };
}

test("a connection counts as broken when no answer came in ten seconds, and some are due", async () => {
  const { clock, slept, step } = stepped();
  const silent: string[] = [];
  const watch = new Watch(clock, ({ message }) => silent.push(message));
  watch.sent();
  for (let look = 0; look < 3; look++) await step();
  // Any answer will do: answers come in the order of the commands.
  watch.sent();
  watch.answered();
  for (let look = 0; look < 4; look++) await step();
  assert.deepEqual(silent, []);
  await step();
  assert.deepEqual(silent, ["Cannot hear of Redis: no answer within 10000 ms"]);
  watch.answered();
  const looks = slept.length;
  await step();
  assert.equal(slept.length, looks, "nothing is due, so that nobody looks");
  watch.sent();
  assert.equal(slept.length, looks + 1);
  watch.end();
  await step();
  assert.equal(slept.length, looks + 1);
});

test("a transport whose server falls silent connects anew, and loses nothing", async () => {
  const proxy = await startProxy(broker().port);
  const queue = freshQueue();
  const transport = redis({ url: `redis://127.0.0.1:${proxy.port}`, layout: "zset" });
  const events: string[] = [];
  // Fifty times as fast where it waits, so that the test does not.
  const sleep: Clock["sleep"] = (ms, signal) => systemClock.sleep(ms / 50, signal);
  await transport.open({
    clock: { ...systemClock, sleep },
    random: () => 0,
    bytes: randomBytes,
    emit: ({ type, ...rest }) => events.push(`${type} ${(rest as { error?: Error }).error ?? ""}`),
  });
  try {
    const options = { prefetch: 1, intake: new AbortController().signal, lost: () => {} };
    const subscription = await transport.subscribe(queue, options);
    await transport.publish(queue, [{ body: latin("{}") }]);
    const [delivery] = await subscription.receive(1, 0);
    proxy.stall();
    const settled = subscription.settle(delivery!, { kind: "ack" });
    await eventually(() => events.some((event) => /^disconnected .*no answer within/.test(event)));
    proxy.resume();
    assert.equal(await settled, "settled");
    const { ready, inFlight } = await transport.size(queue);
    assert.deepEqual([ready, inFlight], [0, 0]);
  } finally {
    await transport.close();
    await proxy.close();
  }
}, { ignore });

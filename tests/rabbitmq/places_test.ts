/** Delay queues and dead-letter queues that somebody else made, or that cannot be had. */

import assert from "node:assert/strict";
import { type BabelQueueOptions, systemClock } from "@bq/core";
import { delayQueueOf, type RabbitmqOptions } from "@bq/rabbitmq";
import amqp from "amqplib";
import { RENEW_MS } from "../../transports/rabbitmq/delays.ts";
import { context } from "../_context.ts";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { freshQueue } from "./admin.ts";
import { bodyOf, inLab, type Lab } from "./lab.ts";

const ignore = await absentRabbitmq();
/** What a full queue does not take back is offered again after a second, not after three minutes. */
const VM = "-rabbit dead_letter_worker_publisher_confirm_timeout 1000";
const broker = brokerOfFile(ignore, () => startRabbitmq({ vm: VM, own: true }));
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore });

const body: Uint8Array = new TextEncoder().encode(B0);
const QUORUM = { "x-queue-type": "quorum" } as const;

/** Lets a message fail until its attempts are over; gives the attempts, and when each began. */
async function failUntilOver(
  lab: Lab,
  transport: RabbitmqOptions,
  options: BabelQueueOptions = {},
): Promise<{ attempts: number[]; timesMs: number[] }> {
  const retry = { baseMs: 1_000 };
  const { bq, seen } = lab.app(
    { maxAttempts: 3, deadLetter: true, retry, ...options },
    lab.transport(transport),
  );
  const attempts: number[] = [];
  const timesMs: number[] = [];
  bq.handle(U, (_, ctx) => {
    attempts.push(ctx.attempt);
    timesMs.push(performance.now());
    throw new Error("boom");
  });
  await lab.admin.put(options.queue ?? lab.queue, body);
  const stop = new AbortController();
  const run = bq.run({ signal: stop.signal });
  await Promise.race([run, seen.waitFor("deadLettered")]);
  assert.equal(seen.of("writeFailed").length, 0);
  stop.abort();
  await run;
  await bq.close();
  return { attempts, timesMs };
}

for (
  const [name, args] of [
    ["replicated", { ...QUORUM, "x-expires": 601_000 }],
    ["with a limit", { "x-max-length": 10 }],
  ] as const
) {
  it(`a delay queue that exists is used as it is: ${name}`, async (lab) => {
    await lab.admin.declare(lab.queue);
    await lab.admin.declare(delayQueueOf(lab.queue, 1_000), {
      "x-message-ttl": 1_000,
      "x-dead-letter-exchange": "",
      "x-dead-letter-routing-key": lab.queue,
      ...args,
    });
    const { attempts, timesMs } = await failUntilOver(lab, {});
    assert.deepEqual(attempts, [1, 2, 3]);
    assert.ok(timesMs[1]! - timesMs[0]! >= 990, "it waits there");
  });
}

it("'passive' uses the delay queue that is there, and else the worker holds the message", async (lab) => {
  await lab.admin.declare(lab.queue);
  await lab.admin.declare(`${lab.queue}.dlq`);
  const held = await failUntilOver(lab, { declare: "passive" });
  assert.deepEqual(held.attempts, [1, 2, 3]);
  assert.ok(held.timesMs[1]! - held.timesMs[0]! >= 990, "it is held");
  assert.equal(await lab.admin.count(delayQueueOf(lab.queue, 1_000)), null);
});

it("a delayed publish to a delay queue that is not there fails, and says so", async (lab) => {
  await lab.admin.declare(lab.queue);
  const { transport } = await lab.open({ declare: "passive", delayQueues: true });
  const [outcome] = await transport.publish(lab.queue, [{ body, delayMs: 1_000 }]);
  assert.equal(outcome!.status, "failed");
  assert.match((outcome as { error: Error }).error.message, /delay\.1000'.*does not exist/);
});

it("a user that may declare nothing retries all the same, and every attempt counts", async (lab) => {
  const { ctl } = broker();
  await lab.admin.declare(lab.queue);
  await lab.admin.declare(`${lab.queue}.dlq`);
  await ctl("add_user", "workers", "secret");
  await ctl("set_permissions", "workers", "^$", ".*", ".*");
  const url = new URL(lab.url);
  [url.username, url.password] = ["workers", "secret"];
  try {
    for (const declare of [undefined, "passive"] as const) {
      const options = declare === undefined ? {} : { declare };
      const { attempts } = await failUntilOver(lab, { url: url.href, ...options });
      assert.deepEqual(attempts, [1, 2, 3], `${declare}`);
    }
  } finally {
    await ctl("delete_user", "workers");
  }
});

it("a queue whose name has no room for that of a delay queue is retried by the worker", async (lab) => {
  const queue = freshQueue().padEnd(250, "x");
  const channel = await lab.admin.channel();
  await channel.assertQueue(queue);
  const { attempts, timesMs } = await failUntilOver(lab, {}, { queue });
  assert.deepEqual(attempts, [1, 2, 3]);
  assert.ok(timesMs[1]! - timesMs[0]! >= 990, "it is held");
  await channel.deleteQueue(queue);
  await channel.deleteQueue(`${queue}.dlq`);
});

it("a record that no queue can have for its name fails, and says the limit", async (lab) => {
  const queue = freshQueue().padEnd(253, "x");
  const channel = await lab.admin.channel();
  await channel.assertQueue(queue);
  await lab.admin.put(queue, body);
  const { bq, seen } = lab.app({ queue, maxAttempts: 1, deadLetter: true });
  bq.handle(U, () => {
    throw new Error("boom");
  });
  const stop = new AbortController();
  const run = bq.run({ signal: stop.signal });
  const { error } = await seen.waitFor("writeFailed");
  assert.match(error!.message, /its name has 257 bytes, and RabbitMQ takes 1 to 255/);
  stop.abort();
  await run;
  await bq.close();
  await channel.deleteQueue(queue);
});

it("a dead-letter queue that exists is used as it is, whatever is declared for work", async (lab) => {
  await lab.admin.declare(`${lab.queue}.dlq`, { "x-message-ttl": 86_400_000 });
  await lab.admin.declare(lab.queue, QUORUM);
  const { attempts } = await failUntilOver(lab, { declare: { arguments: QUORUM } });
  assert.deepEqual(attempts, [1, 2, 3]);
  assert.equal(await lab.admin.count(`${lab.queue}.dlq`), 1);
});

it("what comes back to a full replicated queue waits until there is room", async (lab) => {
  const full = { ...QUORUM, "x-max-length": 1, "x-overflow": "reject-publish" };
  const { transport } = await lab.open({ declare: { arguments: full }, delayQueues: true });
  const filler = { body: new TextEncoder().encode("filler") };
  await eventually(async () => {
    const [outcome] = await transport.publish(lab.queue, [filler]);
    return outcome!.status === "failed";
  });
  await transport.publish(lab.queue, [{ body, delayMs: 1_000 }]);
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  const taken: string[] = [];
  await eventually(async () => {
    if (await lab.admin.count(lab.queue)) taken.push(bodyOf(await lab.admin.take(lab.queue)));
    return taken.includes(B0);
  });
});

it("a delay queue is declared anew every minute that it is used", async (lab) => {
  const connection = await amqp.connect(lab.url, { noDelay: true });
  const declared: string[] = [];
  const createChannel = connection.createChannel.bind(connection);
  connection.createChannel = async () => {
    const channel = await createChannel();
    const assertQueue = channel.assertQueue.bind(channel);
    channel.assertQueue = (queue, options) => {
      declared.push(`${queue}`);
      return assertQueue(queue, options);
    };
    return channel;
  };
  let laterMs = 0;
  const transport = lab.transport({ connection, delayQueues: true });
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + laterMs };
  await transport.open(context({ clock }));
  const publish = (): Promise<unknown> =>
    transport.publish(lab.queue, [{ body, delayMs: 3_600_000 }]);
  await publish();
  await publish();
  const once = [lab.queue, delayQueueOf(lab.queue, 3_600_000)];
  assert.deepEqual(declared, once);
  laterMs = RENEW_MS;
  await publish();
  assert.deepEqual(declared, [...once, once[1]]);
  await transport.close();
  await connection.close();
});

/** What is declared, what is only looked at, and the queues that delays go through. */

import assert from "node:assert/strict";
import { type ConnectionError, RetryAfterError } from "@bq/core";
import { delayQueueOf, DELAYS_MS, type rabbitmq } from "@bq/rabbitmq";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { headersOf, inLab, type Lab } from "./lab.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore });

const QUORUM = { "x-queue-type": "quorum" } as const;
const body: Uint8Array = new TextEncoder().encode(B0);

/** Fails one message so that it is delayed; gives the end of the worker's event list. */
async function delayOnce(
  { app, queue }: Lab,
  transport: ReturnType<typeof rabbitmq>,
): Promise<void> {
  const { bq, seen } = app({ maxAttempts: 3 }, transport);
  bq.handle(U, () => {
    throw new RetryAfterError(100);
  });
  await bq.publish(U, {}, { queue });
  await bq.consume({ maxMessages: 1 });
  await seen.waitFor("retried");
  await bq.close();
}

for (
  const [name, args] of [
    ["quorum", QUORUM],
    ["with a limit", { "x-max-length": 10 }],
    ["with priorities", { "x-max-priority": 5 }],
  ] as const
) {
  it(`an existing queue is used as it is: ${name}`, async ({ app, admin, queue }) => {
    await admin.declare(queue, args);
    const { bq, seen } = app();
    bq.handle(U, () => {});
    await bq.publish(U, {});
    await bq.consume({ maxMessages: 1 });
    assert.equal(seen.of("handled").length, 1);
  });
}

it("a declaration with arguments is made, also for dead letters and delays as far as it fits", async (lab) => {
  const { app, admin, queue } = lab;
  const declare = { arguments: { ...QUORUM, "x-max-length": 10 } };
  const { bq, seen } = app({ deadLetter: true, maxAttempts: 2 }, lab.transport({ declare }));
  bq.handle(U, () => {
    throw new RetryAfterError(100);
  });
  await bq.publish(U, {});
  const stop = new AbortController();
  const run = bq.run({ signal: stop.signal });
  await seen.waitFor("deadLettered");
  stop.abort();
  await run;
  const options = (args: object): object => ({ durable: true, arguments: args });
  assert.equal(await admin.matches(queue, options({ ...QUORUM, "x-max-length": 10 })), true);
  assert.equal(await admin.matches(`${queue}.dlq`, options(QUORUM)), true);
  assert.equal(
    await admin.matches(
      delayQueueOf(queue, 1_000),
      options({
        ...QUORUM,
        "x-message-ttl": 1_000,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": queue,
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
      }),
    ),
    true,
  );
});

it("a declaration that the existing queue contradicts ends the work, and the error names the way out", async (lab) => {
  await lab.admin.declare(lab.queue);
  const { bq } = lab.app({}, lab.transport({ declare: { arguments: QUORUM } }));
  bq.handle(U, () => {});
  await assert.rejects(bq.run(), (error: ConnectionError) => {
    assert.equal(error.fatal, true);
    assert.match(error.message, new RegExp(`'${lab.queue}'.*inequivalent arg.*option 'declare'`));
    return true;
  });
});

it("'passive' looks and declares nothing; a worker waits for the queue to be there", async (lab) => {
  const { admin, queue } = lab;
  const { bq, seen } = lab.app({}, lab.transport({ declare: "passive" }));
  bq.handle(U, () => {});
  await assert.rejects(bq.publish(U, {}), /does not exist, and 'declare' is 'passive'/);
  assert.equal(await admin.count(queue), null);
  const stop = new AbortController();
  const run = bq.run({ signal: stop.signal });
  await seen.waitFor("receiveFailed");
  await admin.declare(queue, QUORUM);
  await bq.publish(U, {});
  await seen.waitFor("handled");
  stop.abort();
  await run;
});

it("'false' declares nothing, and a delayed retry is held by the worker", async (lab) => {
  const { admin, queue } = lab;
  await admin.declare(queue);
  const { bq, seen } = lab.app(
    { maxAttempts: 3, retry: { baseMs: 300 } },
    lab.transport({ declare: false }),
  );
  const timesMs: number[] = [];
  bq.handle(U, () => {
    timesMs.push(performance.now());
    if (timesMs.length === 1) throw new Error("boom");
  });
  await bq.publish(U, {});
  const stop = new AbortController();
  const run = bq.run({ signal: stop.signal });
  await seen.waitFor("handled");
  stop.abort();
  await run;
  assert.ok(timesMs[1]! - timesMs[0]! >= 290, `after ${timesMs[1]! - timesMs[0]!} ms`);
  for (const ms of DELAYS_MS) assert.equal(await admin.count(delayQueueOf(queue, ms)), null);
});

it("a delay queue is durable, sends back, expires, and other consumers of the queue never see it", async (lab) => {
  const { admin, queue } = lab;
  await delayOnce(lab, lab.transport());
  const delay = delayQueueOf(queue, 1_000);
  assert.equal(
    await admin.matches(delay, {
      durable: true,
      arguments: {
        "x-message-ttl": 1_000,
        "x-expires": 601_000,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": queue,
      },
    }),
    true,
  );
  await eventually(async () => await admin.count(queue) === 1);
  assert.equal(await admin.count(delay), 0);
});

it("delays are rounded up to the next queue, and none stands behind a longer one", async (lab) => {
  const { transport } = await lab.open({ delayQueues: true });
  const delays = [1_500, 900, 45_000, 1];
  for (const delayMs of delays) await transport.publish(lab.queue, [{ body, delayMs }]);
  const waiting = (ms: number): Promise<number | null> =>
    lab.admin.count(delayQueueOf(lab.queue, ms));
  assert.equal(await waiting(60_000), 1);
  assert.ok((await waiting(2_000))! <= 1);
  await eventually(async () => await lab.admin.count(lab.queue) === 3);
  assert.equal(await waiting(60_000), 1);
});

it("a delayed publish is refused without a way to delay, and beyond thirty days with one", async (lab) => {
  const plain = await lab.open();
  await assert.rejects(plain.transport.publish(lab.queue, [{ body, delayMs: 1 }]), {
    code: "unsupported",
    message: /'delayQueues' or a 'delayExchange'.*1 ms/,
  });
  const { transport } = await lab.open({ delayQueues: true });
  await assert.rejects(transport.publish(lab.queue, [{ body, delayMs: 2_592_000_001 }]), {
    code: "unsupported",
    message: /exceeds the maximum of 2592000000 ms/,
  });
  const [outcome] = await transport.publish(lab.queue, [{ body, delayMs: 2_592_000_000 }]);
  assert.equal(outcome!.status, "confirmed");
});

it("a delay queue that has gone is declared again", async (lab) => {
  const { transport } = await lab.open({ delayQueues: true });
  await transport.publish(lab.queue, [{ body, delayMs: 5_000 }]);
  await lab.admin.delete(delayQueueOf(lab.queue, 5_000));
  const [outcome] = await transport.publish(lab.queue, [{ body, delayMs: 5_000 }]);
  assert.equal(outcome!.status, "confirmed");
  assert.equal(await lab.admin.count(delayQueueOf(lab.queue, 5_000)), 1);
});

it("a delay exchange gets the message with its delay in milliseconds", async (lab) => {
  // The plugin is not part of RabbitMQ: an exchange of this name that does not delay stands in.
  const exchange = `delayed-${lab.queue}`;
  const channel = await lab.admin.channel();
  await channel.assertExchange(exchange, "direct", { durable: true });
  await lab.admin.declare(lab.queue);
  await channel.bindQueue(lab.queue, exchange, lab.queue);
  const { transport } = await lab.open({ delayExchange: exchange, declare: "passive" });
  await transport.publish(lab.queue, [{ body, delayMs: 1_500.5 }, { body }]);
  const delayed = await lab.admin.take(lab.queue);
  assert.equal(delayed.fields.exchange, exchange);
  assert.equal(headersOf(delayed)["x-delay"], 1_501);
  const plain = await lab.admin.take(lab.queue);
  assert.equal(plain.fields.exchange, "");
  assert.equal(headersOf(plain)["x-delay"], undefined);
  await channel.deleteExchange(exchange);
  await channel.close();
});

it("a retry through a delay exchange has the new delay, and a later one without has none", async (lab) => {
  const exchange = `delayed-${lab.queue}`;
  const channel = await lab.admin.channel();
  await channel.assertExchange(exchange, "direct", { durable: true });
  await lab.admin.declare(lab.queue);
  await channel.bindQueue(lab.queue, exchange, lab.queue);
  const transport = lab.transport({ delayExchange: exchange, declare: false });
  const { bq } = lab.app({ maxAttempts: 5 }, transport);
  let calls = 0;
  bq.handle(U, () => {
    throw ++calls === 1 ? new RetryAfterError(2_000) : new Error("boom");
  });
  await bq.publish(U, {});
  await bq.consume({ maxMessages: 1 });
  await bq.consume({ maxMessages: 1 });
  await bq.close();
  const copy = await lab.admin.take(lab.queue);
  assert.equal(copy.fields.exchange, "");
  assert.deepEqual([headersOf(copy)["x-delay"], headersOf(copy)["x-attempts"]], [undefined, 2]);
  await channel.deleteExchange(exchange);
  await channel.close();
});

it("a delay exchange is declared as one of the plugin, and without that the error names it", async (lab) => {
  const { transport } = await lab.open({ delayExchange: `delayed-${lab.queue}` });
  const [outcome] = await transport.publish(lab.queue, [{ body, delayMs: 1_000 }], {
    signal: AbortSignal.timeout(20_000),
  });
  assert.equal(outcome!.status, "failed");
  const { error } = outcome as { error: Error };
  assert.match(
    error.message,
    /x-delayed-message.*rabbitmq_delayed_message_exchange is not enabled/s,
  );
});

it("a name that RabbitMQ has no room for is refused", async (lab) => {
  const { transport } = await lab.open();
  await assert.rejects(transport.publish("", [{ body }]), { code: "invalid_option" });
  await assert.rejects(transport.publish("ü".repeat(128), [{ body }]), /256 bytes/);
});

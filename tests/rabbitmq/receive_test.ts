/** Receiving: the window, its end, and the polling that the contract knows. */

import assert from "node:assert/strict";
import type { Delivery, Subscription } from "@bq/core";
import { absentRabbitmq, brokerOfFile, startProxy, startRabbitmq } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { inLab, type Lab, type LabTransport } from "./lab.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore });

const body: Uint8Array = new TextEncoder().encode(B0);

interface Reader {
  readonly subscription: Subscription;
  readonly intake: AbortController;
}

async function subscribe(
  transport: LabTransport,
  queue: string,
  prefetch: number,
): Promise<Reader> {
  const intake = new AbortController();
  const options = { prefetch, intake: intake.signal, lost: () => {} };
  return { subscription: await transport.subscribe(queue, options), intake };
}

async function fill({ open, queue }: Lab, count: number): Promise<LabTransport> {
  const { transport } = await open();
  await transport.publish(queue, Array.from({ length: count }, () => ({ body })));
  return transport;
}

/** Waits until the broker has pushed what it may push. */
async function waiting({ admin, queue }: Lab, count: number): Promise<void> {
  await eventually(async () => assert.equal(await admin.count(queue), count));
}

it("the broker pushes no more than the window, and as much again as is settled", async (lab) => {
  const transport = await fill(lab, 30);
  const { subscription } = await subscribe(transport, lab.queue, 10);
  await waiting(lab, 20);
  const taken = await subscription.receive(4, 5_000);
  assert.equal(taken.length, 4);
  for (const delivery of taken) await subscription.settle(delivery, { kind: "ack" });
  await waiting(lab, 16);
  await subscription.close();
  await waiting(lab, 26);
});

it("at the end of intake the window goes back, and what is in hand can still be settled", async (lab) => {
  const transport = await fill(lab, 30);
  const { subscription, intake } = await subscribe(transport, lab.queue, 10);
  const [delivery] = await subscription.receive(1, 5_000);
  await waiting(lab, 20);
  intake.abort();
  await waiting(lab, 29);
  assert.deepEqual(await subscription.receive(1, 1_000), []);
  assert.equal(await subscription.settle(delivery!, { kind: "ack" }), "settled");
  await subscription.close();
  await waiting(lab, 29);
});

it("a worker that holds a whole window back and asks for more gets more", async (lab) => {
  const transport = await fill(lab, 40);
  const { subscription } = await subscribe(transport, lab.queue, 3);
  const held: Delivery[] = [];
  while (held.length < 20) held.push(...await subscription.receive(20 - held.length, 5_000));
  // And no more than a window stands by.
  assert.ok((await lab.admin.count(lab.queue))! >= 20 - 2 * 3);
  for (const delivery of held) await subscription.settle(delivery, { kind: "ack" });
  const [next] = await subscription.receive(1, 5_000);
  await subscription.settle(next!, { kind: "ack" });
  await eventually(async () => {
    const narrowed = (await lab.admin.count(lab.queue))!;
    assert.ok(narrowed >= 19 - 2 * 3, `${narrowed} wait`);
  });
  await subscription.close();
});

it("a receive that does not wait finds what is there", async (lab) => {
  const transport = await fill(lab, 1);
  for (let n = 0; n < 20; n++) {
    const { subscription } = await subscribe(transport, lab.queue, 10);
    const [delivery] = await subscription.receive(1, 0);
    assert.ok(delivery !== undefined, `the message was not found the ${n + 1}. time`);
    await subscription.settle(delivery, { kind: "return" });
    await subscription.close();
  }
  await waiting(lab, 1);
});

it("a message that was given back by its consumer is not counted, on a classic queue", async (lab) => {
  const transport = await fill(lab, 1);
  const { subscription } = await subscribe(transport, lab.queue, 1);
  for (let n = 0; n < 5; n++) {
    const [delivery] = await subscription.receive(1, 5_000);
    assert.deepEqual(delivery!.counting, { beside: 0 });
    assert.deepEqual(delivery!.body, body);
    await subscription.settle(delivery!, { kind: "return" });
  }
  await subscription.close();
});

it("'get' fetches one message at a time, and asks an empty queue once an interval", async (lab) => {
  // Everything that goes to the broker passes here, so that questions can be counted.
  const proxy = await startProxy(broker().port);
  let asked = 0;
  try {
    const url = new URL(lab.url);
    url.port = `${proxy.port}`;
    const transport = lab.transport({ url: url.href, receive: "get", pollIntervalMs: 400 });
    const { bq } = lab.app({ pollTimeoutMs: 50 }, transport);
    const handled: unknown[] = [];
    bq.handle(U, ({ n }) => void handled.push(n));
    await bq.publishMany([1, 2, 3].map((n) => ({ message: U, data: { n } })));
    const stop = new AbortController();
    const run = bq.run({ signal: stop.signal });
    await eventually(() => handled.length === 3);
    count();
    const startedMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const intervals = Math.ceil((performance.now() - startedMs) / 400);
    assert.ok(
      asked >= 1 && asked <= intervals + 1,
      `asked ${asked} times in ${intervals} intervals`,
    );
    await bq.publish(U, { n: 4 });
    await eventually(() => handled.length === 4);
    stop.abort();
    await run;
  } finally {
    await proxy.close();
  }

  /** Counts the questions from now on: `basic.get` is method 70 of class 60. */
  function count(): void {
    const look = (bytes: Uint8Array): boolean => {
      const text = new TextDecoder("latin1").decode(bytes);
      asked += text.split("\0\x3c\0\x46").length - 1;
      return false;
    };
    void proxy.cutAnswer({ request: look });
  }
});

it("'get' gives back what it has in hand when its subscription ends", async (lab) => {
  await fill(lab, 3);
  const { transport } = await lab.open({ receive: "get", pollIntervalMs: 50 });
  const { subscription } = await subscribe(transport, lab.queue, 10);
  assert.equal((await subscription.receive(10, 5_000)).length, 1);
  assert.equal((await subscription.receive(10, 5_000)).length, 1);
  await waiting(lab, 1);
  await subscription.close();
  await waiting(lab, 3);
});

it("a queue is worked off in the order of publishing", async (lab) => {
  const { bq } = lab.app({ concurrency: 1, prefetch: 50 });
  const handled: number[] = [];
  bq.handle(U, ({ n }) => void handled.push(Number(n)));
  const numbers = Array.from({ length: 300 }, (_, n) => n);
  await bq.publishMany(numbers.map((n) => ({ message: U, data: { n } })));
  await bq.consume({ maxMessages: 300 });
  assert.deepEqual(handled, numbers);
});

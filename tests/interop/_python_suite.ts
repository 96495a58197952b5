/**
 * What our worker and the published Python SDK's have to do with each other's messages, on brokers that
 * hold queues.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BabelQueue, BabelQueueOptions } from "@bq/core";
import { aroundFile, type RunningBroker } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { DATA, type Handled, TRACE, URN } from "./_messages.ts";
import type { Peer } from "./peer.ts";
import { type PythonBroker, startPythonOn } from "./python.ts";

const STOP = "urn:babel:shop:stop";
const MESSAGES = 2_000;

/** One test's view: a queue, both sides, and a look at the broker between them. */
export interface Exchange {
  readonly peer: Peer;
  readonly queue: string;
  /** Its dead-letter queue. */
  readonly dead: string;
  /** An App on the queue; whoever asks for it closes it. */
  app(options: BabelQueueOptions): { readonly bq: BabelQueue };
  /** How many messages of a queue wait for a worker. */
  ready(queue: string): Promise<number>;
  /** How many messages a queue holds, in whatever state. */
  size(queue: string): Promise<number>;
  /** Fails unless a queue holds so many messages. */
  holds(queue: string, count: number): Promise<void>;
  /** The body of the next message of a queue, which is gone then. */
  take(queue: string): Promise<string>;
  /** The body of the next message of a queue, which stays. */
  look(queue: string): Promise<string>;
}

/** A broker where both sides meet. */
export interface Meeting<B extends RunningBroker, X extends Exchange> {
  /** The broker, in titles. */
  readonly name: string;
  /** The broker, as the SDK's client is named for it. */
  readonly client: PythonBroker;
  readonly ignore: boolean;
  /** Foreign headers that both sides carry. @default {{}} */
  readonly headers?: Readonly<Record<string, string>>;
  start(): Promise<B>;
  /** Sets one test up and clears it away. */
  enter(broker: B, peer: Peer, act: (exchange: X) => Promise<void>): Promise<void>;
}

/** Registers one test. */
export type ExchangeTest<X extends Exchange> = (
  title: string,
  run: (exchange: X) => Promise<void>,
  timeoutMs?: number,
) => void;

/**
 * Registers the tests that hold on every such broker.
 *
 * @returns Registers one more, on the same broker and with the same peer.
 */
export function pythonTests<B extends RunningBroker, X extends Exchange>(
  meeting: Meeting<B, X>,
): ExchangeTest<X> {
  const { name, client, ignore, headers = {} } = meeting;
  let broker: B | undefined;
  let peer: Peer | undefined;
  if (!ignore) {
    aroundFile(async () => {
      broker = await meeting.start();
      peer = await startPythonOn(client, broker.url);
    }, async () => {
      await peer?.close();
      await broker?.stop();
    });
  }
  const exchange: ExchangeTest<X> = (title, run, timeoutMs = 60_000) =>
    test(`Python, ${name}: ${title}`, () => meeting.enter(broker!, peer!, run), {
      ignore,
      timeoutMs,
    });

  const carried = headers === meeting.headers ? ", headers too" : "";
  exchange(`we handle what the peer publishes${carried}`, async (x) => {
    const id = await x.peer.publish({
      queue: x.queue,
      job: URN,
      data: DATA,
      traceId: TRACE,
      headers,
    });
    assert.deepEqual(await weWork(x), [{ id, data: DATA, attempt: 1, traceId: TRACE, headers }]);
    await x.holds(x.queue, 0);
  });
  for (const [title, run] of COMMON) exchange(title, run);
  exchange(
    `of ${MESSAGES} messages on a queue with a failing worker of each none is lost`,
    shareQueue,
    240_000,
  );
  return exchange;
}

/** Lets an App of ours do something, and closes it. */
export async function withOurs<T>(
  exchange: Exchange,
  options: BabelQueueOptions,
  use: (bq: BabelQueue) => Promise<T>,
): Promise<T> {
  const { bq } = exchange.app(options);
  try {
    return await use(bq);
  } finally {
    await bq.close();
  }
}

/** We publish the message; gives its id. */
export function wePublish(
  exchange: Exchange,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  return withOurs(exchange, {}, (bq) => bq.publish(URN, DATA, { traceId: TRACE, headers }));
}

/** We take one delivery, which fails when it is asked to; gives what the handler got else. */
export async function weWork(
  exchange: Exchange,
  options: BabelQueueOptions & { readonly fail?: boolean } = {},
): Promise<(Handled & { readonly headers: object })[]> {
  const { fail = false, ...rest } = options;
  const handled: (Handled & { readonly headers: object })[] = [];
  await withOurs(exchange, { deadLetter: true, ...rest }, async (bq) => {
    bq.handle(URN, (data, { messageId: id, attempt, traceId, headers }) => {
      if (fail) throw new Error("asked to fail");
      handled.push({ id, data, attempt, traceId, headers: { ...headers } });
    });
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
  });
  return handled;
}

/** The peer takes one delivery and fails it. */
export async function peerFails({ peer, queue }: Exchange, tries: number): Promise<void> {
  const { failed } = await peer.work({ queue, urns: [URN], count: 1, fail: 1, tries });
  assert.equal(failed, 1);
}

const COMMON: readonly (readonly [title: string, run: (exchange: Exchange) => Promise<void>])[] = [
  ["both sides count on: we fail, the peer fails, we handle the third delivery", async (x) => {
    const id = await wePublish(x);
    await weWork(x, { fail: true });
    await peerFails(x, 5);
    assert.deepEqual(await weWork(x), [
      { id, data: DATA, attempt: 3, traceId: TRACE, headers: {} },
    ]);
    await x.holds(x.queue, 0);
  }],
  ["a delayed retry of ours is the peer's like any other", async (x) => {
    const id = await wePublish(x);
    await weWork(x, { fail: true, retry: { baseMs: 500 } });
    const { handled } = await x.peer.work({ queue: x.queue, urns: [URN], count: 1, idle: 30 });
    assert.deepEqual(handled.map((one) => [one.id, one.attempts, one.data]), [[id, 1, DATA]]);
  }],
  ["we dead-letter what the peer failed before, and the peer handles our record", async (x) => {
    const id = await wePublish(x);
    await peerFails(x, 3);
    await weWork(x, { fail: true, maxAttempts: 2 });
    await x.holds(x.queue, 0);
    const { meta, attempts, dead_letter } = JSON.parse(await x.look(x.dead));
    assert.deepEqual([meta.id, attempts, dead_letter.attempts], [id, 2, 2]);
    assert.equal(dead_letter.reason, "failed");
    const { handled } = await x.peer.work({ queue: x.dead, urns: [URN], count: 1 });
    assert.deepEqual(handled.map((one) => one.id), [id]);
  }],
  ["we handle the record that the peer dead-lettered", async (x) => {
    const id = await wePublish(x);
    await peerFails(x, 1);
    await x.holds(x.queue, 0);
    const handled = await weWork(x, { queue: x.dead, maxAttempts: 9 });
    assert.deepEqual(handled.map((one) => one.id), [id]);
  }],
  ["a body that nobody can read becomes the same record on both sides", async (x) => {
    const text = `{"job":"${URN}"`;
    const records: unknown[] = [];
    for (const side of ["ours", "theirs"]) {
      await x.peer.publishRaw(x.queue, new TextEncoder().encode(text));
      if (side === "ours") await weWork(x);
      else await x.peer.work({ queue: x.queue, urns: [URN], count: 1, tries: 1 });
      const { raw, dead_letter: { reason } } = JSON.parse(await x.take(x.dead));
      records.push({ raw, reason });
    }
    assert.deepEqual(records[0], { raw: text, reason: "poison" });
    assert.deepEqual(records[1], records[0]);
  }],
];

async function shareQueue(x: Exchange): Promise<void> {
  const { peer, queue } = x;
  const times: Map<number, number> = new Map();
  const count = (n: unknown): void => void times.set(Number(n), (times.get(Number(n)) ?? 0) + 1);
  await withOurs(x, { concurrency: 2, maxAttempts: 5, deadLetter: true }, async (bq) => {
    const items = Array.from({ length: MESSAGES }, (_, n) => ({ message: URN, data: { n } }));
    await bq.publishMany(items.slice(0, 500));
    const work = { queue, urns: [URN], stop: STOP, idle: 60, failEvery: 20, tries: 5 };
    const theirs = peer.work(work);
    await eventually(async () => await x.ready(queue) < 500);
    let mine = 0;
    bq.handle(URN, ({ n }, { attempt }) => {
      if (attempt === 1 && Number(n) % 20 === 0) throw new Error("asked to fail");
      mine++;
      count(n);
    });
    const run = bq.run();
    await bq.publishMany(items.slice(500));
    await eventually(async () => assert.equal(await x.size(queue), 0), { timeoutMs: 120_000 });
    await bq.stop();
    await run;
    await bq.publish(STOP, {});
    const { handled } = await theirs;
    for (const { data } of handled) count(data["n"]);
    assert.ok(mine > 0 && handled.length > 0, `we handled ${mine}, the peer ${handled.length}`);
  });
  const lost = Array.from({ length: MESSAGES }, (_, n) => n).filter((n) => !times.has(n));
  const twice = [...times.values()].filter((one) => one > 1).length;
  assert.deepEqual({ lost, twice }, { lost: [], twice: 0 });
  await x.holds(x.dead, 0);
}

/** Our worker and the published Python SDK's on one RabbitMQ. */

import assert from "node:assert/strict";
import { BabelQueue, type BabelQueueOptions, type JsonObject } from "@bq/core";
import { rabbitmq } from "@bq/rabbitmq";
import { absentRabbitmq, aroundFile, type RunningRabbitmq, startRabbitmq } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { Admin } from "../rabbitmq/admin.ts";
import { bodyOf, headersOf, propertiesOf } from "../rabbitmq/lab.ts";
import type { Peer } from "./peer.ts";
import { absentPython, startPythonOn } from "./python.ts";

const ignore = await absentRabbitmq({ own: true }) || await absentPython("rabbitmq");
const URN = "urn:babel:shop:paid";
const STOP = "urn:babel:shop:stop";
const TRACE = "4f9d0c1e-0000-4000-8000-00000000beef";
/** Text beyond ASCII, a fraction, a null. */
const DATA: JsonObject = { n: 7, text: "café ☕ </a>&\u2028", half: 0.5, list: [1, 2], none: null };
const HEADERS = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tenant: "7",
};

let broker: RunningRabbitmq | undefined;
let peer: Peer | undefined;
if (!ignore) {
  aroundFile(async () => {
    broker = await startRabbitmq({ own: true });
    peer = await startPythonOn("rabbitmq", broker.url);
  }, async () => {
    await peer?.close();
    await broker?.stop();
  });
}

/** What one test works with. */
interface Exchange {
  readonly peer: Peer;
  readonly admin: Admin;
  readonly queue: string;
  ours<T>(options: BabelQueueOptions, use: (bq: BabelQueue) => Promise<T>): Promise<T>;
}

function exchange(
  title: string,
  run: (exchange: Exchange) => Promise<void>,
  timeoutMs = 60_000,
): void {
  test(`Python, RabbitMQ: ${title}`, async () => {
    const { url } = broker!;
    const admin = await Admin.open(url);
    const queue = admin.queue();
    try {
      await run({
        peer: peer!,
        admin,
        queue,
        async ours(options, use) {
          const bq = new BabelQueue(rabbitmq(url), { queue, onEvent: () => {}, ...options });
          try {
            return await use(bq);
          } finally {
            await bq.close();
          }
        },
      });
    } finally {
      await admin.close();
    }
  }, { ignore, timeoutMs });
}

/** We take so many deliveries, the first ones failing; gives what the handler got of the others. */
async function weWork(
  { ours }: Exchange,
  options: BabelQueueOptions & { readonly fail?: number; readonly count?: number } = {},
): Promise<{ id: string; data: unknown; attempt: number; traceId: string; headers: object }[]> {
  const { fail = 0, count = 1, ...rest } = options;
  const handled: {
    id: string;
    data: unknown;
    attempt: number;
    traceId: string;
    headers: object;
  }[] = [];
  let calls = 0;
  await ours({ deadLetter: true, ...rest }, async (bq) => {
    bq.handle(URN, (data, { messageId: id, attempt, traceId, headers }) => {
      if (++calls <= fail) throw new Error("asked to fail");
      handled.push({ id, data, attempt, traceId, headers: { ...headers } });
    });
    await bq.consume({ maxMessages: count, waitMs: 10_000 });
  });
  return handled;
}

exchange("we handle what the peer publishes, headers too", async (all) => {
  const id = await all.peer.publish({
    queue: all.queue,
    job: URN,
    data: DATA,
    traceId: TRACE,
    headers: HEADERS,
  });
  const handled = await weWork(all);
  assert.deepEqual(handled, [{ id, data: DATA, attempt: 1, traceId: TRACE, headers: HEADERS }]);
  assert.equal(await all.admin.count(all.queue), 0);
});

exchange("the peer handles what we publish, headers too", async ({ ours, peer, queue, admin }) => {
  const id = await ours({}, (bq) => bq.publish(URN, DATA, { traceId: TRACE, headers: HEADERS }));
  const { handled } = await peer.work({ queue, urns: [URN], count: 1 });
  const [{ headers = {}, ...message } = { headers: {} }] = handled;
  assert.deepEqual(message, { id, urn: URN, data: DATA, attempts: 0, traceId: TRACE });
  for (const [name, value] of Object.entries(HEADERS)) assert.equal(headers[name], value);
  assert.equal(await admin.count(queue), 0);
});

exchange(
  "both sides write the same properties and headers beside the same body",
  async ({ ours, peer, admin, queue }) => {
    await peer.publish({ queue, job: URN, data: DATA, traceId: TRACE, headers: HEADERS });
    const theirs = await admin.take(queue);
    await ours({}, (bq) => bq.publishRaw(queue, theirs.content, { headers: HEADERS }));
    const mine = await admin.take(queue);
    assert.equal(bodyOf(mine), bodyOf(theirs));
    assert.deepEqual(propertiesOf(mine), propertiesOf(theirs));
    assert.deepEqual(headersOf(mine), headersOf(theirs));
  },
);

exchange(
  "both sides count on: we fail, the peer fails, we handle the third delivery",
  async (all) => {
    const { peer, queue } = all;
    const id = await all.ours({}, (bq) => bq.publish(URN, DATA, { traceId: TRACE }));
    await weWork(all, { fail: 1 });
    assert.equal((await peer.work({ queue, urns: [URN], count: 1, fail: 1, tries: 3 })).failed, 1);
    const [handled] = await weWork(all);
    assert.deepEqual({ ...handled, headers: {} }, {
      id,
      data: DATA,
      attempt: 3,
      traceId: TRACE,
      headers: {},
    });
  },
);

exchange(
  "a retry of ours that waited in a delay queue is the peer's like any other",
  async (all) => {
    const { peer, queue } = all;
    const id = await all.ours({}, (bq) => bq.publish(URN, DATA, { traceId: TRACE }));
    await weWork(all, { fail: 1, retry: { baseMs: 500 } });
    const { handled } = await peer.work({ queue, urns: [URN], count: 1, idle: 30 });
    assert.deepEqual(handled.map(({ id, attempts, data }) => ({ id, attempts, data })), [
      { id, attempts: 1, data: DATA },
    ]);
  },
);

exchange(
  "we dead-letter what the peer failed before, and the peer handles our record",
  async (all) => {
    const { peer, admin, queue } = all;
    const id = await all.ours({}, (bq) => bq.publish(URN, DATA));
    await peer.work({ queue, urns: [URN], count: 1, fail: 1, tries: 3 });
    await weWork(all, { fail: 1, maxAttempts: 2 });
    assert.equal(await admin.count(queue), 0);
    const record = await admin.take(`${queue}.dlq`);
    const { dead_letter, meta, attempts } = JSON.parse(bodyOf(record));
    assert.deepEqual([meta.id, attempts, dead_letter.attempts, dead_letter.reason], [
      id,
      2,
      2,
      "failed",
    ]);
    await admin.put(`${queue}.dlq`, record.content, record.properties);
    const { handled } = await peer.work({ queue: `${queue}.dlq`, urns: [URN], count: 1 });
    assert.deepEqual(handled.map((one) => one.id), [id]);
  },
);

exchange("we handle the record that the peer dead-lettered", async (all) => {
  const { peer, queue } = all;
  const id = await all.ours({}, (bq) => bq.publish(URN, DATA));
  await peer.work({ queue, urns: [URN], count: 1, fail: 1, tries: 1 });
  const handled = await weWork({ ...all }, { queue: `${queue}.dlq`, maxAttempts: 9 });
  assert.deepEqual(handled.map((one) => one.id), [id]);
});

exchange(
  "what we release for want of a handler reaches the peer unchanged and uncounted",
  async (all) => {
    const { peer, admin, queue } = all;
    const id = await peer.publish({ queue, job: "urn:babel:shop:unknown", data: DATA });
    const before = await admin.take(queue);
    await admin.put(queue, before.content, before.properties);
    await all.ours({ onUnknownUrn: "release" }, async (bq) => {
      await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    });
    const after = await admin.take(queue);
    assert.equal(bodyOf(after), bodyOf(before));
    assert.deepEqual(headersOf(after), headersOf(before));
    await admin.put(queue, after.content, after.properties);
    const { handled } = await peer.work({ queue, urns: ["urn:babel:shop:unknown"], count: 1 });
    assert.deepEqual(handled.map((one) => [one.id, one.attempts]), [[id, 0]]);
  },
);

exchange("a body that nobody can read becomes the same record on both sides", async (all) => {
  const { peer, admin, queue } = all;
  const body = new TextEncoder().encode(`{"job":"${URN}"`);
  const records: { raw: string; reason: string }[] = [];
  for (const side of ["ours", "theirs"]) {
    await peer.publishRaw(queue, body);
    if (side === "ours") await weWork(all);
    else await peer.work({ queue, urns: [URN], count: 1, tries: 1 });
    const { raw, dead_letter: { reason } } = JSON.parse(bodyOf(await admin.take(`${queue}.dlq`)));
    records.push({ raw, reason });
  }
  assert.deepEqual(records[0], { raw: `{"job":"${URN}"`, reason: "poison" });
  assert.deepEqual(records[1], records[0]);
});

const MESSAGES = 2_000;

exchange(
  `of ${MESSAGES} messages on a queue with a failing worker of each none is lost`,
  async (all) => {
    const { peer, admin, queue } = all;
    const times: Map<number, number> = new Map();
    const count = (n: unknown): void => void times.set(Number(n), (times.get(Number(n)) ?? 0) + 1);
    await all.ours({ concurrency: 2, maxAttempts: 5, deadLetter: true }, async (bq) => {
      const items = Array.from({ length: MESSAGES }, (_, n) => ({ message: URN, data: { n } }));
      await bq.publishMany(items.slice(0, 500));
      const theirs = peer.work({
        queue,
        urns: [URN],
        stop: STOP,
        idle: 60,
        failEvery: 20,
        tries: 5,
      });
      await eventually(async () => (await admin.count(queue))! < 500);
      let mine = 0;
      bq.handle(URN, ({ n }, { attempt }) => {
        if (attempt === 1 && Number(n) % 20 === 0) throw new Error("asked to fail");
        mine++;
        count(n);
      });
      const run = bq.run();
      await bq.publishMany(items.slice(500));
      await eventually(async () => {
        const [ready, unacknowledged] = await counts(queue);
        assert.deepEqual([ready, unacknowledged], [0, 0]);
      }, { timeoutMs: 120_000 });
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
    assert.equal(await admin.count(`${queue}.dlq`) ?? 0, 0);
  },
  240_000,
);

/** Messages of a queue that are ready, and that are unacknowledged. */
async function counts(queue: string): Promise<number[]> {
  const columns = ["name", "messages_ready", "messages_unacknowledged"];
  const table = await broker!.ctl("list_queues", ...columns);
  const row = table.split("\n").find((line) => line.startsWith(queue));
  return (row ?? "").split("\t").slice(1).map(Number);
}

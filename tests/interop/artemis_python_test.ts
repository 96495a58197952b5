/**
 * Our worker and the published Python SDK's on one Artemis. It retries by a copy with one attempt more
 * where we give the message back counted: the handler's ordinal is the same, the bytes differ.
 */

import assert from "node:assert/strict";
import type { BabelQueueOptions, JsonObject } from "@bq/core";
import { bytes, inLab, type Lab, nativeText } from "../artemis/lab.ts";
import { absentArtemis, aroundFile, type RunningArtemis, startArtemis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import type { Peer } from "./peer.ts";
import { absentPython, startPythonOn } from "./python.ts";

const ignore = await absentArtemis({ own: true }) || await absentPython("artemis");
const URN = "urn:babel:shop:paid";
const STOP = "urn:babel:shop:stop";
const TRACE = "4f9d0c1e-0000-4000-8000-00000000beef";
/** Text beyond ASCII, a fraction, a null. */
const DATA: JsonObject = { n: 7, text: "café ☕ </a>&\u2028", half: 0.5, list: [1, 2], none: null };

let broker: RunningArtemis | undefined;
let python: Peer | undefined;
if (!ignore) {
  aroundFile(async () => {
    broker = await startArtemis({ own: true });
    python = await startPythonOn("artemis", broker.url);
  }, async () => {
    await python?.close();
    await broker?.stop();
  });
}

function exchange(
  title: string,
  run: (lab: Lab, peer: Peer) => Promise<void>,
  timeoutMs = 60_000,
): void {
  test(`Python, Artemis: ${title}`, () => inLab(broker!.url, (lab) => run(lab, python!)), {
    ignore,
    timeoutMs,
  });
}

/** What our handler got. */
interface Handled {
  readonly id: string;
  readonly data: unknown;
  readonly attempt: number;
  readonly traceId: string;
}

/** We take so many deliveries, the first ones failing; gives what the handler got of the others. */
async function weWork(
  lab: Lab,
  options: BabelQueueOptions & { readonly fail?: number; readonly count?: number } = {},
): Promise<Handled[]> {
  const { fail = 0, count = 1, ...rest } = options;
  const handled: Handled[] = [];
  let calls = 0;
  const { bq } = lab.app({ deadLetter: true, ...rest });
  bq.handle(URN, (data, { messageId: id, attempt, traceId }) => {
    if (++calls <= fail) throw new Error("asked to fail");
    handled.push({ id, data, attempt, traceId });
  });
  await bq.consume({ maxMessages: count, waitMs: 10_000 });
  await bq.close();
  return handled;
}

/** How many messages a queue holds, once the broker has counted them. */
async function holds(lab: Lab, queue: string, count: number): Promise<void> {
  const transport = await lab.transport();
  await eventually(async () => {
    const { ready, delayed, inFlight } = await transport.size(queue);
    assert.equal(ready + delayed + inFlight, count, queue);
  });
}

exchange("we handle what the peer publishes", async (lab, peer) => {
  const id = await peer.publish({ queue: lab.queue, job: URN, data: DATA, traceId: TRACE });
  assert.deepEqual(await weWork(lab), [{ id, data: DATA, attempt: 1, traceId: TRACE }]);
  await holds(lab, lab.queue, 0);
});

exchange("the peer handles what we publish, with headers or without", async (lab, peer) => {
  const { bq } = lab.app();
  for (const headers of [{}, { tenant: "7", "bq-replay-bypass": "1" }]) {
    const id = await bq.publish(URN, DATA, { traceId: TRACE, headers });
    const { handled } = await peer.work({ queue: lab.queue, urns: [URN], count: 1 });
    const [{ headers: _, ...message } = { headers: {} }] = handled;
    assert.deepEqual(message, { id, urn: URN, data: DATA, attempts: 0, traceId: TRACE });
  }
  await holds(lab, lab.queue, 0);
});

exchange("both sides write the same slots beside the same body", async (lab, peer) => {
  await peer.publish({ queue: lab.queue, job: URN, data: DATA, traceId: TRACE });
  const [theirs = {}] = await lab.peer.receive(lab.queue);
  const transport = await lab.transport();
  await transport.publish(lab.queue, [{ body: bytes(nativeText(theirs)) }]);
  const [mine = {}] = await lab.peer.receive(lab.queue);
  assert.equal(nativeText(mine), nativeText(theirs));
  for (const slot of ["application_properties", "message_annotations"] as const) {
    assert.deepEqual({ ...mine[slot] }, { ...theirs[slot] }, slot);
  }
  assert.equal(mine.correlation_id, theirs.correlation_id);
  // The peer writes it from a fraction of seconds, which may round by one.
  const times = [mine.creation_time, theirs.creation_time].map((time) => Number(time as Date));
  assert.ok(Math.abs(times[0]! - times[1]!) <= 1, `${times}`);
});

exchange("both sides count on: we fail, the peer fails, we handle the third", async (lab, peer) => {
  const { bq } = lab.app();
  const id = await bq.publish(URN, DATA, { traceId: TRACE });
  await weWork(lab, { fail: 1 });
  const work = { queue: lab.queue, urns: [URN], count: 1, fail: 1, tries: 5 };
  assert.equal((await peer.work(work)).failed, 1);
  assert.deepEqual(await weWork(lab), [{ id, data: DATA, attempt: 3, traceId: TRACE }]);
  await holds(lab, lab.queue, 0);
});

exchange(
  "and the other way round: the peer fails, we fail, the peer handles",
  async (lab, peer) => {
    const { bq } = lab.app();
    const id = await bq.publish(URN, DATA, { traceId: TRACE });
    await peer.work({ queue: lab.queue, urns: [URN], count: 1, fail: 1, tries: 5 });
    await weWork(lab, { fail: 1, maxAttempts: 5 });
    const { handled } = await peer.work({ queue: lab.queue, urns: [URN], count: 1, tries: 5 });
    assert.deepEqual(handled.map((one) => [one.id, one.attempts, one.data]), [[id, 2, DATA]]);
    await holds(lab, lab.queue, 0);
  },
);

exchange("what the peer fails is a copy, what we fail the same message", async (lab, peer) => {
  const { bq } = lab.app();
  await bq.publish(URN, DATA);
  await weWork(lab, { fail: 1 });
  const [ours = {}] = await lab.peer.receive(lab.queue);
  assert.deepEqual([JSON.parse(nativeText(ours)).attempts, ours.delivery_count], [0, 1]);
  await bq.publish(URN, DATA);
  await peer.work({ queue: lab.queue, urns: [URN], count: 1, fail: 1, tries: 3 });
  const [theirs = {}] = await lab.peer.receive(lab.queue);
  const { attempts } = JSON.parse(nativeText(theirs));
  assert.deepEqual([attempts, theirs.delivery_count ?? 0], [1, 0]);
});

exchange("a delayed retry of ours is the peer's like any other", async (lab, peer) => {
  const { bq } = lab.app();
  const id = await bq.publish(URN, DATA, { traceId: TRACE });
  await weWork(lab, { fail: 1, retry: { baseMs: 500 } });
  const { handled } = await peer.work({ queue: lab.queue, urns: [URN], count: 1, idle: 30 });
  assert.deepEqual(handled.map((one) => [one.id, one.attempts, one.data]), [[id, 1, DATA]]);
});

exchange(
  "we dead-letter what the peer failed, and the peer handles our record",
  async (lab, peer) => {
    const { bq } = lab.app();
    const id = await bq.publish(URN, DATA);
    await peer.work({ queue: lab.queue, urns: [URN], count: 1, fail: 1, tries: 3 });
    await weWork(lab, { fail: 1, maxAttempts: 2 });
    await holds(lab, lab.queue, 0);
    const [record = {}] = await lab.peer.receive(lab.dead, 1, "release");
    const { dead_letter, attempts } = JSON.parse(nativeText(record));
    assert.deepEqual([attempts, dead_letter.attempts, dead_letter.reason], [2, 2, "failed"]);
    const { handled } = await peer.work({ queue: lab.dead, urns: [URN], count: 1 });
    assert.deepEqual(handled.map((one) => one.id), [id]);
  },
);

exchange("we handle the record that the peer dead-lettered", async (lab, peer) => {
  const { bq } = lab.app();
  const id = await bq.publish(URN, DATA);
  await peer.work({ queue: lab.queue, urns: [URN], count: 1, fail: 1, tries: 1 });
  await holds(lab, lab.queue, 0);
  const handled = await weWork(lab, { queue: lab.dead, maxAttempts: 9 });
  assert.deepEqual(handled.map((one) => one.id), [id]);
});

exchange("a body that nobody can read becomes the same record on both sides", async (lab, peer) => {
  const body = bytes(`{"job":"${URN}"`);
  const records: unknown[] = [];
  for (const side of ["ours", "theirs"]) {
    await peer.publishRaw(lab.queue, body);
    if (side === "ours") await weWork(lab);
    else await peer.work({ queue: lab.queue, urns: [URN], count: 1, tries: 1 });
    const [record = {}] = await lab.peer.receive(lab.dead);
    const { raw, dead_letter: { reason } } = JSON.parse(nativeText(record));
    records.push({ raw, reason });
  }
  assert.deepEqual(records[0], { raw: `{"job":"${URN}"`, reason: "poison" });
  assert.deepEqual(records[1], records[0]);
});

const MESSAGES = 2_000;

exchange(
  `of ${MESSAGES} messages on a queue with a failing worker of each none is lost`,
  async (lab, peer) => {
    const times: Map<number, number> = new Map();
    const count = (n: unknown): void => void times.set(Number(n), (times.get(Number(n)) ?? 0) + 1);
    const { bq } = lab.app({ concurrency: 2, maxAttempts: 5, deadLetter: true });
    const items = Array.from({ length: MESSAGES }, (_, n) => ({ message: URN, data: { n } }));
    await bq.publishMany(items.slice(0, 500));
    const work = { queue: lab.queue, urns: [URN], stop: STOP, idle: 60, failEvery: 20, tries: 5 };
    const theirs = peer.work(work);
    const transport = await lab.transport();
    await eventually(async () => (await transport.size(lab.queue)).ready < 500);
    let mine = 0;
    bq.handle(URN, ({ n }, { attempt }) => {
      if (attempt === 1 && Number(n) % 20 === 0) throw new Error("asked to fail");
      mine++;
      count(n);
    });
    const run = bq.run();
    await bq.publishMany(items.slice(500));
    await eventually(async () => {
      assert.deepEqual(await transport.size(lab.queue), { ready: 0, delayed: 0, inFlight: 0 });
    }, { timeoutMs: 120_000 });
    await bq.stop();
    await run;
    await bq.publish(STOP, {});
    const { handled } = await theirs;
    for (const { data } of handled) count(data["n"]);
    assert.ok(mine > 0 && handled.length > 0, `we handled ${mine}, the peer ${handled.length}`);
    const lost = Array.from({ length: MESSAGES }, (_, n) => n).filter((n) => !times.has(n));
    const twice = [...times.values()].filter((one) => one > 1).length;
    assert.deepEqual({ lost, twice }, { lost: [], twice: 0 });
    await holds(lab, lab.dead, 0);
  },
  240_000,
);

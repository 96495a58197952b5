/**
 * Our worker and the published Python SDK's on one Artemis. It retries by a copy with one attempt more
 * where we give the message back counted: the handler's ordinal is the same, the bytes differ.
 */

import assert from "node:assert/strict";
import { bytes, inLab, type Lab, nativeText } from "../artemis/lab.ts";
import { absentArtemis, type RunningArtemis, startArtemis } from "../brokers/mod.ts";
import { eventually } from "../harness.ts";
import { DATA, TRACE, URN } from "./_messages.ts";
import { type Exchange, peerFails, pythonTests, wePublish, weWork } from "./_python_suite.ts";
import type { Peer } from "./peer.ts";
import { absentPython } from "./python.ts";

/** An exchange, with another client at hand. */
interface ArtemisExchange extends Exchange {
  readonly lab: Lab;
}

async function exchangeOf(lab: Lab, peer: Peer): Promise<ArtemisExchange> {
  const transport = await lab.transport();
  const size = async (queue: string): Promise<number> => {
    const { ready, delayed, inFlight } = await transport.size(queue);
    return ready + delayed + inFlight;
  };
  const next = async (queue: string, settling: "accept" | "release"): Promise<string> => {
    const [message = {}] = await lab.peer.receive(queue, 1, settling);
    return nativeText(message);
  };
  return {
    lab,
    peer,
    queue: lab.queue,
    dead: lab.dead,
    app: (options) => lab.app(options),
    ready: async (queue) => (await transport.size(queue)).ready,
    size,
    // The broker counts a moment after it was told.
    holds: (queue, count) => eventually(async () => assert.equal(await size(queue), count, queue)),
    take: (queue) => next(queue, "accept"),
    look: (queue) => next(queue, "release"),
  };
}

const exchange = pythonTests<RunningArtemis, ArtemisExchange>({
  name: "Artemis",
  client: "artemis",
  ignore: await absentArtemis({ own: true }) || await absentPython("artemis"),
  start: () => startArtemis({ own: true }),
  enter: (broker, peer, act) => inLab(broker.url, async (lab) => act(await exchangeOf(lab, peer))),
});

exchange("the peer handles what we publish, with headers or without", async (x) => {
  for (const headers of [{}, { tenant: "7", "bq-replay-bypass": "1" }]) {
    const id = await wePublish(x, headers);
    const { handled } = await x.peer.work({ queue: x.queue, urns: [URN], count: 1 });
    const [{ headers: _, ...message } = { headers: {} }] = handled;
    assert.deepEqual(message, { id, urn: URN, data: DATA, attempts: 0, traceId: TRACE });
  }
  await x.holds(x.queue, 0);
});

exchange("both sides write the same slots beside the same body", async ({ lab, peer }) => {
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

exchange(
  "and the other way round: the peer fails, we fail, the peer handles",
  async (x) => {
    const id = await wePublish(x);
    await peerFails(x, 5);
    await weWork(x, { fail: true, maxAttempts: 5 });
    const { handled } = await x.peer.work({ queue: x.queue, urns: [URN], count: 1, tries: 5 });
    assert.deepEqual(handled.map((one) => [one.id, one.attempts, one.data]), [[id, 2, DATA]]);
    await x.holds(x.queue, 0);
  },
);

exchange("what the peer fails is a copy, what we fail the same message", async (x) => {
  const { lab } = x;
  await wePublish(x);
  await weWork(x, { fail: true });
  const [ours = {}] = await lab.peer.receive(lab.queue);
  assert.deepEqual([JSON.parse(nativeText(ours)).attempts, ours.delivery_count], [0, 1]);
  await wePublish(x);
  await peerFails(x, 3);
  const [theirs = {}] = await lab.peer.receive(lab.queue);
  const { attempts } = JSON.parse(nativeText(theirs));
  assert.deepEqual([attempts, theirs.delivery_count ?? 0], [1, 0]);
});

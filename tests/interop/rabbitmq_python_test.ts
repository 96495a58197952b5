/** Our worker and the published Python SDK's on one RabbitMQ. */

import assert from "node:assert/strict";
import { absentRabbitmq, type RunningRabbitmq, startRabbitmq } from "../brokers/mod.ts";
import type { Admin } from "../rabbitmq/admin.ts";
import { bodyOf, headersOf, inLab, type Lab, propertiesOf } from "../rabbitmq/lab.ts";
import { DATA, TRACE, URN } from "./_messages.ts";
import { type Exchange, pythonTests, wePublish, withOurs } from "./_python_suite.ts";
import type { Peer } from "./peer.ts";
import { absentPython } from "./python.ts";

const HEADERS = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  tenant: "7",
};

/** An exchange, with the channel of an admin at hand. */
interface RabbitmqExchange extends Exchange {
  readonly admin: Admin;
}

function exchangeOf(
  broker: RunningRabbitmq,
  { admin, queue, app }: Lab,
  peer: Peer,
): RabbitmqExchange {
  return {
    admin,
    peer,
    queue,
    dead: `${queue}.dlq`,
    app: (options) => app(options),
    ready: async (name) => await admin.count(name) ?? 0,
    async size(name) {
      const columns = ["name", "messages_ready", "messages_unacknowledged"];
      const table = await broker.ctl("list_queues", ...columns);
      const row = table.split("\n").find((line) => line.startsWith(`${name}\t`)) ?? "";
      const [ready = NaN, unacknowledged = NaN] = row.split("\t").slice(1).map(Number);
      return ready + unacknowledged;
    },
    holds: async (name, count) => assert.equal(await admin.count(name) ?? 0, count, name),
    take: async (name) => bodyOf(await admin.take(name)),
    async look(name) {
      const message = await admin.take(name);
      await admin.put(name, message.content, message.properties);
      return bodyOf(message);
    },
  };
}

const exchange = pythonTests<RunningRabbitmq, RabbitmqExchange>({
  name: "RabbitMQ",
  client: "rabbitmq",
  ignore: await absentRabbitmq({ own: true }) || await absentPython("rabbitmq"),
  headers: HEADERS,
  start: () => startRabbitmq({ own: true }),
  enter: (broker, peer, act) => inLab(broker, (lab) => act(exchangeOf(broker, lab, peer))),
});

exchange("the peer handles what we publish, headers too", async (x) => {
  const id = await wePublish(x, HEADERS);
  const { handled } = await x.peer.work({ queue: x.queue, urns: [URN], count: 1 });
  const [{ headers = {}, ...message } = { headers: {} }] = handled;
  assert.deepEqual(message, { id, urn: URN, data: DATA, attempts: 0, traceId: TRACE });
  for (const [name, value] of Object.entries(HEADERS)) assert.equal(headers[name], value);
  await x.holds(x.queue, 0);
});

exchange("both sides write the same properties and headers beside the same body", async (x) => {
  const { peer, admin, queue } = x;
  await peer.publish({ queue, job: URN, data: DATA, traceId: TRACE, headers: HEADERS });
  const theirs = await admin.take(queue);
  await withOurs(x, {}, (bq) => bq.publishRaw(queue, theirs.content, { headers: HEADERS }));
  const mine = await admin.take(queue);
  assert.equal(bodyOf(mine), bodyOf(theirs));
  assert.deepEqual(propertiesOf(mine), propertiesOf(theirs));
  assert.deepEqual(headersOf(mine), headersOf(theirs));
});

exchange(
  "what we release for want of a handler reaches the peer unchanged and uncounted",
  async (x) => {
    const { peer, admin, queue } = x;
    const id = await peer.publish({ queue, job: "urn:babel:shop:unknown", data: DATA });
    const before = await admin.take(queue);
    await admin.put(queue, before.content, before.properties);
    await withOurs(x, { onUnknownUrn: "release" }, async (bq) => {
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

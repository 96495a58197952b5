/** What ends a connection for good and what does not, and what one transport's connections know of each other. */

import assert from "node:assert/strict";
import amqp from "amqplib";
import { Buffer } from "node:buffer";
import { ConnectionError, systemClock } from "@bq/core";
import { Link } from "../../transports/rabbitmq/_link.ts";
import { type Bound, Queues } from "../../transports/rabbitmq/_queues.ts";
import { resolveOptions } from "../../transports/rabbitmq/options.ts";
import { userOf } from "../../transports/rabbitmq/_dial.ts";
import { absentRabbitmq, brokerOfFile, startProxy, startRabbitmq } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { inLab, type Lab } from "./lab.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore, timeoutMs: 120_000 });

const body: Uint8Array = new TextEncoder().encode(B0);

it("a producer whose password was changed comes back when it is right again", async (lab) => {
  const { ctl } = broker();
  await ctl("add_user", "producer", "right");
  await ctl("set_permissions", "producer", ".*", ".*", ".*");
  const url = new URL(lab.url);
  [url.username, url.password] = ["producer", "right"];
  try {
    const { transport, events } = await lab.open({ url: url.href });
    const publish = async (): Promise<string> =>
      (await transport.publish(lab.queue, [{ body }], { signal: AbortSignal.timeout(20_000) }))[0]!
        .status;
    assert.equal(await publish(), "confirmed");
    await ctl("change_password", "producer", "wrong");
    await ctl("close_all_user_connections", "producer", "asked to");
    await eventually(() => events.some(({ type }) => type === "disconnected"));
    const [refused] = await transport.publish(lab.queue, [{ body }]);
    assert.equal(refused!.status, "failed");
    const { error } = refused as { error: Error };
    assert.ok(error instanceof ConnectionError && error.fatal, `${error}`);
    await ctl("change_password", "producer", "right");
    await eventually(async () => await publish() === "confirmed");
  } finally {
    await ctl("delete_user", "producer");
  }
});

for (const how of ["closed by its owner", "given up by the client"] as const) {
  it(`a ready connection that came back by itself ends the work when it is ${how}`, async (lab) => {
    const proxy = await startProxy(broker().port);
    const url = new URL(lab.url);
    url.port = `${proxy.port}`;
    const recovery = { initialDelay: 50, maxDelay: 100, maxRetries: 2 };
    const connection = await amqp.connect(url.href, { noDelay: true, recovery });
    connection.on("error", () => {});
    try {
      const { bq } = lab.app({}, lab.transport({ connection }));
      bq.handle(U, () => {});
      const run = bq.run();
      run.catch(() => {});
      await eventually(() => bq.health().queues[0]?.state === "working");
      if (how === "closed by its owner") await connection.close();
      else {
        proxy.refuse();
        proxy.cut();
      }
      await assert.rejects(run, (error: unknown) => {
        assert.ok(error instanceof ConnectionError && error.fatal, `${error}`);
        assert.match(error.message, /the connection that was given/);
        assert.doesNotMatch(error.message, /'recovery: true' comes back/);
        return true;
      });
    } finally {
      await connection.close().catch(() => {});
      await proxy.close();
    }
  });
}

/**
 * A connection on which any exchange passes for one of the plugin, which is not part of RabbitMQ; how
 * it would have been declared is noted.
 */
async function withAnyExchange(
  url: string,
  declared: unknown[] = [],
): Promise<amqp.ChannelModel> {
  const connection = await amqp.connect(url, { noDelay: true });
  const createChannel = connection.createChannel.bind(connection);
  connection.createChannel = async () => {
    const channel = await createChannel();
    channel.assertExchange = async (exchange, type, options) => {
      declared.push([exchange, type, options]);
      await channel.checkExchange(exchange);
      return { exchange };
    };
    return channel;
  };
  return connection;
}

it("a delay exchange is declared as the plugin wants it, durable, and each message says its delay", async (lab) => {
  const exchange = `delayed-${lab.queue}`;
  const channel = await lab.admin.channel();
  await channel.assertExchange(exchange, "direct", { durable: true });
  const declared: unknown[] = [];
  const connection = await withAnyExchange(lab.url, declared);
  const { transport } = await lab.open({ connection, delayExchange: exchange });
  const outcomes = await transport.publish(lab.queue, [{ body, delayMs: 1_500.5 }, { body }]);
  assert.deepEqual(outcomes.map(({ status }) => status), ["confirmed", "confirmed"]);
  const options = {
    durable: true,
    autoDelete: false,
    arguments: { "x-delayed-type": "direct" },
  };
  assert.deepEqual(declared, [[exchange, "x-delayed-message", options]]);
  const ways = [await lab.admin.take(lab.queue), await lab.admin.take(lab.queue)]
    .map(({ fields, properties }) => [
      fields.exchange,
      fields.routingKey,
      properties.headers?.["x-delay"],
    ]);
  assert.deepEqual(ways, [[exchange, lab.queue, 1_501], ["", lab.queue, undefined]]);
  await transport.close();
  await connection.close();
  await channel.deleteExchange(exchange);
  await channel.close();
});

it("what one connection learns of a queue that went, the other knows: it is bound again", async (lab) => {
  const exchange = `delayed-${lab.queue}`;
  const channel = await lab.admin.channel();
  await channel.assertExchange(exchange, "direct", { durable: true });
  const options = resolveOptions({ url: lab.url, delayExchange: exchange });
  const bound: Bound = new Map();
  const setup = {
    dial: () => withAnyExchange(lab.url),
    clock: systemClock,
    random: () => 0.5,
    changed: () => {},
    blocked: () => {},
  };
  const links = [new Link(setup), new Link(setup)] as const;
  const [publishing, receiving] = links.map((link) =>
    new Queues(link, options, systemClock, bound)
  ) as [Queues, Queues];
  const delayed = { queue: lab.queue, delayMs: 1_000 };
  const isBound = async (): Promise<boolean> => {
    channel.publish(exchange, lab.queue, Buffer.from("any"));
    await channel.checkExchange(exchange);
    return await lab.admin.count(lab.queue) === 1;
  };
  for (const link of links) await link.open();
  await publishing.prepare(delayed);
  assert.equal(publishing.ready(delayed), true);
  await eventually(isBound);
  await lab.admin.delete(lab.queue);
  receiving.forget(lab.queue);
  await receiving.prepare({ queue: lab.queue });
  assert.equal(publishing.ready(delayed), false);
  await publishing.prepare(delayed);
  await eventually(isBound);
  await lab.admin.delete(lab.queue);
  await assert.rejects(
    (bound.clear(), publishing.prepare(delayed)),
    /NOT_FOUND/,
    "a queue that went is not bound",
  );
  await publishing.prepare(delayed);
  await eventually(isBound);
  for (const link of links) await link.close(undefined);
  await channel.deleteExchange(exchange);
  await channel.close();
});

it("a window larger than the protocol has a number for is the largest that it has", async (lab) => {
  const { transport } = await lab.open();
  await transport.publish(lab.queue, [{ body }]);
  const subscription = await transport.subscribe(lab.queue, {
    prefetch: 70_000,
    intake: new AbortController().signal,
    lost: () => {},
  });
  const [delivery] = await subscription.receive(1, 10_000);
  assert.equal(await subscription.settle(delivery!, { kind: "ack" }), "settled");
  await subscription.close();
});

it("close() while a connection is opened cuts it, whatever the time for that", async (lab) => {
  const proxy = await startProxy(broker().port);
  proxy.stall();
  const url = new URL(lab.url);
  url.port = `${proxy.port}`;
  try {
    const { bq } = lab.app({}, lab.transport({ url: url.href, connectTimeoutMs: 600_000 }));
    const connecting = bq.connect();
    connecting.catch(() => {});
    await eventually(() => proxy.connections > 0);
    await bq.close();
    await assert.rejects(connecting);
    await eventually(() => proxy.connections === 0);
  } finally {
    await proxy.close();
  }
});

test("with credentials of its own the name that a connection is logged in with is not known", () => {
  assert.equal(userOf(resolveOptions({ url: "amqp://somebody:secret@h" })), "somebody");
  assert.equal(userOf(resolveOptions({ url: "amqp://h" })), "guest");
  const credentials = amqp.credentials.plain("limited", "secret");
  assert.equal(userOf(resolveOptions({ url: "amqp://h", socket: { credentials } })), undefined);
});

/** Which errors are fatal, and connections that end while they begin or while they end. */

import assert from "node:assert/strict";
import type { AddressInfo, Server } from "node:net";
import { artemis } from "@bq/artemis";
import rhea from "rhea";
import { brokerError, connectionError } from "../../transports/artemis/_errors.ts";
import { context } from "../_context.ts";
import { absentArtemis, brokerOfFile, startArtemis, startProxy } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { freshQueue, opened } from "./harness.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());
/** A frame that ends a session. */
const END = Buffer.from([0x00, 0x53, 0x17]);
/** A frame that gives credit. */
const FLOW = Buffer.from([0x00, 0x53, 0x13]);

function ofBroker(condition: string, description: string): boolean {
  return connectionError("receive from 'x'", brokerError({ condition, description }, "")).fatal;
}

function ofSystem(message: string, code?: string): boolean {
  return connectionError("connect to 'x'", Object.assign(new Error(message), { code })).fatal;
}

test("what a broker says is judged by its condition, whatever a queue is named", () => {
  assert.equal(
    ofBroker("amqp:resource-deleted", "Queue was deleted: authentication-events"),
    false,
  );
  assert.equal(ofBroker("amqp:resource-deleted", "Queue was deleted: concert_orders"), false);
  assert.equal(ofBroker("amqp:not-found", "no queue certificates: SASL"), false);
  assert.equal(ofBroker("amqp:unauthorized-access", "any"), true);
  const denied = "AMQ229032: User: me does not have permission='SEND' on address q";
  assert.equal(ofBroker("amqp:internal-error", denied), true);
});

test("what the system says is judged by its code, whatever a host is named", () => {
  assert.equal(ofSystem("getaddrinfo EAI_AGAIN mq.concert_x.example", "EAI_AGAIN"), false);
  assert.equal(ofSystem("getaddrinfo ENOTFOUND sasl-mq.certificate.internal", "ENOTFOUND"), false);
  assert.equal(ofSystem("any", "CERT_HAS_EXPIRED"), true);
  assert.equal(ofSystem("any", "DEPTH_ZERO_SELF_SIGNED_CERT"), true);
  assert.equal(ofSystem("invalid peer certificate: UnknownIssuer"), true);
});

/** Runs a broker that closes its first connection, forced, so long after it opened. */
async function withForcing(
  afterMs: number,
  description: string,
  use: (port: number) => Promise<void>,
): Promise<void> {
  const container = rhea.create_container();
  for (const event of ["connection_error", "connection_close", "disconnected", "error"]) {
    container.on(event as never, (() => {}) as never);
  }
  let forced = false;
  container.on("connection_open", ({ connection }) => {
    if (forced) return;
    forced = true;
    const close = (): void =>
      connection.close({ condition: "amqp:connection:forced", description });
    if (afterMs === 0) close();
    else setTimeout(close, afterMs);
  });
  const server = container.listen({ port: 0, host: "127.0.0.1" }) as unknown as Server;
  await new Promise((resolve) => server.on("listening", resolve));
  try {
    await use((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

test("a connection that is closed in one piece with its open has not come up", async () => {
  await withForcing(0, "going down", async (port) => {
    const opening = opened(`artemis://127.0.0.1:${port}`);
    await assert.rejects(opening, { code: "connection", fatal: false, message: /forced/ });
  });
});

test("a connection given that a broker forces closed may come back, whatever is said of it", async () => {
  await withForcing(50, "the broker is going down", async (port) => {
    const connection = rhea.create_container().connect({
      host: "127.0.0.1",
      port,
      username: "anonymous",
      reconnect: 20,
    } as never);
    const told: string[] = [];
    const transport = artemis({ connection });
    await transport.open(context({ emit: ({ type }) => void told.push(type) }));
    await eventually(() =>
      assert.ok(told.filter((type) => type === "connected").length > 1, `${told}`)
    );
    await transport.close();
    const closed = new Promise((resolve) => connection.on("connection_close", resolve));
    connection.close();
    await closed;
  });
});

test("a connection given that gives up after some attempts is fatal", async () => {
  const proxy = await startProxy(broker().port);
  const connection = rhea.create_container().connect({
    host: "127.0.0.1",
    port: proxy.port,
    username: "anonymous",
    initial_reconnect_delay: 20,
    reconnect_limit: 2,
  } as never);
  const transport = await opened({ connection });
  const queue = freshQueue();
  const { signal } = new AbortController();
  const subscription = await transport.subscribe(queue, {
    prefetch: 1,
    intake: signal,
    lost: () => {},
  });
  await proxy.close();
  const gaveUp = { code: "connection", fatal: true, message: /does not reconnect/ };
  await eventually(() => assert.rejects(subscription.receive(1, 10), gaveUp));
  await transport.close();
}, { ignore });

test("a subscription whose connection dies before its end is answered is closed", async () => {
  const proxy = await startProxy(broker().port);
  const transport = await opened(`artemis://127.0.0.1:${proxy.port}`);
  const { signal } = new AbortController();
  const subscription = await transport.subscribe(freshQueue(), {
    prefetch: 1,
    intake: signal,
    lost: () => {},
  });
  proxy.cutAnswer({ request: (piece: Uint8Array) => Buffer.from(piece).includes(END) });
  await subscription.close();
  await transport.close();
  await proxy.close();
}, { ignore });

test("a peek whose connection is lost throws, and does not show a part as all", async () => {
  const proxy = await startProxy(broker().port);
  const transport = await opened(`artemis://127.0.0.1:${proxy.port}`);
  proxy.cutAnswer({ request: (piece: Uint8Array) => Buffer.from(piece).includes(FLOW) });
  await assert.rejects(Array.fromAsync(transport.peek(freshQueue())), {
    code: "connection",
    message: /Cannot peek at/,
  });
  await transport.close();
  await proxy.close();
}, { ignore });

test("the signal of a second close ends the wait of the first", async () => {
  const proxy = await startProxy(broker().port);
  const transport = await opened(`artemis://127.0.0.1:${proxy.port}`);
  const { signal } = new AbortController();
  const subscription = await transport.subscribe(freshQueue(), {
    prefetch: 1,
    intake: signal,
    lost: () => {},
  });
  proxy.stall();
  const first = subscription.close();
  await subscription.close({ signal: AbortSignal.abort() });
  await first;
  await transport.close();
  await proxy.close();
}, { ignore });

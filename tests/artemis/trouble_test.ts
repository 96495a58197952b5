/** Logins that are refused, brokers that take nothing, bodies of other kinds, connections of others. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { artemis } from "@bq/artemis";
import { BabelQueue, ConnectionError } from "@bq/core";
import rhea from "rhea";
import { context } from "../_context.ts";
import {
  absentArtemis,
  brokerOfFile,
  makeCertificates,
  startArtemis,
  startProxy,
} from "../brokers/mod.ts";
import { freePort } from "../brokers/_port.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { freshQueue, opened } from "./harness.ts";
import { bytes, inLab, type Lab, nativeText } from "./lab.ts";

const ignore = await absentArtemis({ own: true });
const broker = brokerOfFile(ignore, () => startArtemis({ own: true }));

function live(name: string, work: (lab: Lab) => Promise<void>): void {
  test(name, () => inLab(broker().url, work), { ignore });
}

async function refused(opening: Promise<unknown>, message: RegExp, fatal: boolean): Promise<void> {
  await assert.rejects(opening, (error: unknown) => {
    assert.ok(error instanceof ConnectionError, `${error}`);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /secret/);
    assert.equal(error.fatal, fatal, error.message);
    return true;
  });
}

/** Runs a server that says one thing to everybody. */
async function withServer(answer: string, use: (port: number) => Promise<void>): Promise<void> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).resume();
    if (answer !== "") socket.end(Buffer.from(answer, "latin1"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use((server.address() as { port: number }).port);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

test("a login with user and password works, and a wrong one is fatal", async () => {
  const { usersUrl = "" } = broker();
  await (await opened(usersUrl)).close();
  const anonymous = usersUrl.replace("test:test@", "");
  await (await opened({ url: anonymous, username: "test", password: "test" })).close();
  const wrong = usersUrl.replace("test:test", "test:secret");
  await refused(opened(wrong), /Cannot connect to '127.*unauthorized-access/, true);
  await refused(opened(anonymous), /No suitable mechanism; server supports PLAIN/, true);
}, { ignore });

test("a worker whose login is refused ends with that", async () => {
  const url = broker().usersUrl!.replace("test:test", "test:secret");
  const bq = new BabelQueue(artemis(url), { queue: "q", onEvent: () => {} });
  await assert.rejects(bq.run(), { code: "connection", fatal: true });
  await bq.close();
}, { ignore });

test("nobody there is told and not fatal, another protocol is fatal", async () => {
  const port = await freePort();
  await refused(opened(`artemis://127.0.0.1:${port}`), /ECONNREFUSED|refused/, false);
  for (const answer of ["AMQP\x00\x00\x09\x01", "HTTP/1.1 400 Bad Request\r\n\r\n"]) {
    await withServer(answer, async (port) => {
      const opening = opened(`artemis://127.0.0.1:${port}`);
      await refused(opening, /Unsupported AMQP|Invalid protocol/, true);
    });
  }
});

test("an open that gets no answer ends with its signal", async () => {
  await withServer("", async (port) => {
    const transport = artemis(`artemis://127.0.0.1:${port}`);
    const stop = new AbortController();
    const opening = transport.open(context(), { signal: stop.signal });
    setTimeout(() => stop.abort(), 50);
    await refused(opening, /no answer in time/, false);
    await transport.close();
  });
});

test("TLS: the broker's certificate is checked, and a message goes through", async () => {
  const certificates = await makeCertificates();
  const secure = await startArtemis({ certificates });
  try {
    await refused(opened(secure.url), /certificate/i, true);
    const tls = { ca: certificates.ca };
    const anonymous = secure.url.replace("test:test@", "");
    await refused(opened({ url: anonymous, tls }), /Unable to validate user/, true);
    const transport = await opened({ url: secure.url, tls });
    const body = bytes("x".repeat(1_000_000));
    const queue = freshQueue();
    assert.deepEqual(await transport.publish(queue, [{ body }]), [{ status: "confirmed" }]);
    const { signal } = new AbortController();
    const subscription = await transport.subscribe(queue, {
      prefetch: 1,
      intake: signal,
      lost: () => {},
    });
    const [delivery] = await subscription.receive(1, 10_000);
    assert.deepEqual(delivery!.body, body);
    await transport.close();
  } finally {
    await secure.stop();
  }
}, { ignore, timeoutMs: 120_000 });

live(
  "a queue that is full takes nothing: a publish in its time fails, and was not sent",
  async (lab) => {
    const { bq } = lab.app();
    const queue = `full.${lab.queue}`;
    for (let n = 0; n < 3; n++) await bq.publish(U, {}, { queue });
    const failure = await bq.publish(U, {}, { queue, timeoutMs: 1_000 }).then(() => null, (e) => e);
    assert.equal(failure?.code, "publish_failed", `${failure}`);
    assert.match(failure.message, /no credit|full/i);
    assert.equal((await (await lab.transport()).size(queue)).ready, 3);
  },
);

live("a queue that this user may not use is refused, naming it", async (lab) => {
  const transport = await lab.transport();
  const queue = `forbidden.${lab.queue}`;
  const [outcome] = await transport.publish(queue, [{ body: bytes(B0) }]);
  assert.equal(outcome?.status, "failed");
  assert.match((outcome as { error: Error }).error.message, /forbidden\..*permission/);
  const { signal } = new AbortController();
  const options = { prefetch: 1, intake: signal, lost: () => {} };
  await refused(transport.subscribe(queue, options), /forbidden\..*permission/, true);
});

live("bodies that carry no envelope are poison, and are shown in their record", async (lab) => {
  const bodies = [
    { a: 1 },
    ["a", 1],
    rhea.message.sequence_section([1, 2] as never),
    42,
    true,
    null,
    rhea.types.wrap_symbol("symbol"),
  ];
  const { bq, seen } = lab.app({ deadLetter: true });
  bq.handle(U, () => assert.fail("no handler may see these"));
  for (const body of bodies) await lab.peer.send(lab.queue, { body });
  await bq.consume({ maxMessages: bodies.length, waitMs: 10_000 });
  assert.equal(seen.of("poison").length, bodies.length);
  const records = await lab.peer.receive(lab.dead, bodies.length);
  const shown = records.map((record) => {
    const { raw, a, dead_letter } = JSON.parse(nativeText(record));
    assert.equal(dead_letter.reason, "poison");
    return a === undefined ? raw : { a };
  });
  assert.deepEqual(shown, [{ a: 1 }, '["a",1]', "[1,2]", "42", "true", "", "symbol"]);
});

live("properties of every kind come as text or not at all, and break nothing", async (lab) => {
  const { types } = rhea;
  await lab.peer.send(lab.queue, {
    body: B0,
    application_properties: {
      text: "größe",
      long: types.wrap_long(-5),
      double: 1.5,
      yes: true,
      time: new Date(0),
      bytes: Buffer.from("b"),
      nothing: null,
      empty: "",
      constructor: "c",
      "": "nameless",
    },
  });
  const subscription = await lab.subscribe(await lab.transport());
  const [delivery] = await subscription.receive(1, 10_000);
  assert.equal(Object.getPrototypeOf(delivery!.headers), null);
  assert.deepEqual({ ...delivery!.headers }, {
    text: "größe",
    long: "-5",
    double: "1.5",
    yes: "true",
    time: "1970-01-01T00:00:00.000Z",
    constructor: "c",
  });
  await subscription.settle(delivery!, { kind: "ack" });
});

live(
  "a ready connection is used and left open, and used again when it has come back",
  async (lab) => {
    const proxy = await startProxy(broker().port);
    const connection = rhea.create_container().connect({
      host: "127.0.0.1",
      port: proxy.port,
      username: "anonymous",
      reconnect: 20,
    } as never);
    connection.on("disconnected", () => {});
    const events: string[] = [];
    const transport = await lab.transport({ connection }, {
      emit: ({ type }) => events.push(type),
    });
    const subscription = await lab.subscribe(transport);
    const publish = (): Promise<unknown> => transport.publish(lab.queue, [{ body: bytes(B0) }]);
    await publish();
    await subscription.settle((await subscription.receive(1, 10_000))[0]!, { kind: "ack" });
    proxy.cut();
    await eventually(() => events.includes("disconnected"));
    await eventually(async () => assert.deepEqual(await publish(), [{ status: "confirmed" }]));
    await eventually(async () => {
      const [delivery] = await subscription.receive(1, 1_000);
      assert.equal(await subscription.settle(delivery!, { kind: "ack" }), "settled");
    });
    assert.deepEqual(events, ["connected", "disconnected", "connected"]);
    await transport.close();
    assert.ok(connection.is_open(), "the connection is the user's");
    const closed = new Promise((resolve) => connection.on("connection_close", resolve));
    connection.close();
    await closed;
    await proxy.close();
  },
);

live("a ready connection that does not come back is fatal", async (lab) => {
  const proxy = await startProxy(broker().port);
  const connection = rhea.create_container().connect({
    host: "127.0.0.1",
    port: proxy.port,
    username: "anonymous",
    reconnect: false,
  } as never);
  const transport = await lab.transport({ connection });
  const subscription = await lab.subscribe(transport);
  const waiting = subscription.receive(1, 600_000);
  waiting.catch(() => {});
  proxy.cut();
  await refused(waiting, /does not reconnect/, true);
  await refused(subscription.receive(1, 1_000), /does not reconnect/, true);
  const [outcome] = await transport.publish(lab.queue, [{ body: bytes(B0) }]);
  assert.equal(outcome?.status, "failed");
  await transport.close();
  await proxy.close();
});

test(
  "a dead-letter address of the broker's own takes what fails too often before our cap",
  async () => {
    const strict = await startArtemis({ maxDeliveryAttempts: 2 });
    try {
      await inLab(strict.url, async (lab) => {
        const { bq } = lab.app({ maxAttempts: 5, deadLetter: true });
        let calls = 0;
        bq.handle(U, () => {
          calls++;
          throw new Error("fails");
        });
        await bq.publish(U, {});
        await bq.consume({ waitMs: 1_000 });
        assert.equal(calls, 2);
        const [record = {}] = await lab.peer.receive("DLA");
        assert.equal(JSON.parse(nativeText(record)).job, U);
      });
    } finally {
      await strict.stop();
    }
  },
  { ignore, timeoutMs: 120_000 },
);

/** The proxy does to a connection what it says, and nothing else. */

import assert from "node:assert/strict";
import { eventually, test } from "../harness.ts";
import {
  absentRedis,
  brokerOfFile,
  type Proxy,
  RespClient,
  startProxy,
  startRedis,
} from "./mod.ts";

const ignore = await absentRedis();
const redis = brokerOfFile(ignore, () => startRedis());

async function withProxy(
  use: (proxy: Proxy, direct: RespClient, key: string) => Promise<void>,
): Promise<void> {
  const proxy = await startProxy(redis().port);
  const direct = await RespClient.connect(redis().port);
  const key = `proxy:${crypto.randomUUID()}`;
  try {
    await use(proxy, direct, key);
  } finally {
    await direct.call("DEL", key);
    await direct.close();
    await proxy.close();
  }
}

test("a proxy passes bytes on, large ones too", async () => {
  await withProxy(async (proxy, _direct, key) => {
    const client = await RespClient.connect(proxy.port);
    const body = new Uint8Array(3_000_000).map((_, i) => i % 251);
    await client.call("SET", key, body);
    assert.deepEqual(new Uint8Array(await client.call("GET", key) as Uint8Array), body);
    await client.close();
    await eventually(() => proxy.connections === 0);
  });
}, { ignore });

test("cut() ends every connection and takes new ones", async () => {
  await withProxy(async (proxy) => {
    const clients = [await RespClient.connect(proxy.port), await RespClient.connect(proxy.port)];
    for (const client of clients) await client.call("PING");
    proxy.cut();
    for (const client of clients) await assert.rejects(client.call("PING"));
    const client = await RespClient.connect(proxy.port);
    assert.equal(await client.text("PING"), "PONG");
    await client.close();
  });
}, { ignore });

test("cutAnswer() lets the server do what was asked and keeps its answer back", async () => {
  await withProxy(async (proxy, direct, key) => {
    const client = await RespClient.connect(proxy.port);
    const cut = proxy.cutAnswer({ request: (bytes) => Buffer.from(bytes).includes("INCR") });
    assert.equal(await client.text("PING"), "PONG");
    await assert.rejects(client.call("INCR", key));
    await cut;
    assert.equal(await direct.text("GET", key), "1");
    const again = await RespClient.connect(proxy.port);
    assert.equal(await again.call("INCR", key), 2);
    await again.close();
  });
}, { ignore });

test("stall() holds what is sent until resume()", async () => {
  await withProxy(async (proxy, direct, key) => {
    const client = await RespClient.connect(proxy.port);
    await client.call("PING");
    proxy.stall();
    const answer = client.call("INCR", key);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(await direct.call("GET", key), null);
    proxy.resume();
    assert.equal(await answer, 1);
    await client.close();
  });
}, { ignore });

test("refuse() lets nobody through until resume()", async () => {
  await withProxy(async (proxy) => {
    const client = await RespClient.connect(proxy.port);
    await client.call("PING");
    proxy.refuse();
    await assert.rejects(client.call("PING"));
    const refused = RespClient.connect(proxy.port).then((one) => one.call("PING"));
    await assert.rejects(refused);
    proxy.resume();
    const again = await RespClient.connect(proxy.port);
    assert.equal(await again.text("PING"), "PONG");
    await again.close();
  });
}, { ignore });

test("delay() holds requests and answers that long, in order", async () => {
  await withProxy(async (proxy, _direct, key) => {
    const client = await RespClient.connect(proxy.port);
    await client.call("PING");
    proxy.delay(60, 40);
    const started = performance.now();
    const answers = await Promise.all([1, 2, 3].map(() => client.call("INCR", key)));
    // Timers may fire a little early; a delay that was left out would be far below.
    assert.ok(performance.now() - started >= 90, `${performance.now() - started} ms`);
    assert.deepEqual(answers, [1, 2, 3]);
    await client.close();
  });
}, { ignore });

test("a server that goes away closes the client's connection", async () => {
  const own = await startRedis({ own: true });
  const proxy = await startProxy(own.port);
  const client = await RespClient.connect(proxy.port);
  await client.call("PING");
  await own.stop();
  await eventually(() => client.call("PING").then(() => false, () => true));
  await proxy.close();
}, { ignore });

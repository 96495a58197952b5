import assert from "node:assert/strict";
import { BabelQueue, systemClock } from "@bq/core";
import { redis, type RedisOptions } from "@bq/redis";
import { createClient } from "redis";
import { testTransport } from "@bq/core/testing";
import {
  absent,
  absentRedis,
  brokerOfFile,
  type Certificates,
  makeCertificates,
  RespClient,
  startRedis,
  TLS_OFFSET,
} from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { quickFeatures, redisHarness } from "../redis/harness.ts";
import { freshQueue, randomBytes } from "../redis/lab.ts";

const URN = "urn:babel:orders:created";
let certificates: Certificates = { ca: "", cert: "", key: "" };
const ignore = await absentRedis() || await absent("openssl", async () => {
  certificates = await makeCertificates();
});
const broker = brokerOfFile(ignore, () => startRedis({ tls: certificates }));
const run: typeof test = (name, fn, options) => test(name, fn, { ...options, ignore });

function url(): string {
  return `rediss://127.0.0.1:${broker().port + TLS_OFFSET}`;
}

/** What a client needs to know of a server whose authority is not one of the system's. */
function trusting(): { readonly connection: RedisOptions["connection"] & object } {
  return { connection: { tls: { ca: certificates.ca } } };
}

testTransport(
  run,
  "redis over TLS",
  () =>
    redisHarness({
      broker: { ...broker(), url: url() },
      layout: "zset",
      options: trusting(),
    }),
  quickFeatures("zset"),
);

test("a body of a megabyte comes whole over TLS, with either client", async () => {
  const client = createClient({
    url: url(),
    maintNotifications: "disabled",
    socket: { tls: true, ca: certificates.ca },
  });
  client.on("error", () => {});
  const text = "caf\u00e9 ".repeat(180_000);
  for (const options of [{ url: url(), ...trusting() }, { client }] as RedisOptions[]) {
    const bq = new BabelQueue(redis(options), { queue: freshQueue(), onEvent: () => {} });
    let came: unknown;
    bq.handle(URN, (data) => came = data["text"]);
    await bq.publish(URN, { text });
    await bq.consume({ maxMessages: 1, waitMs: 20_000 });
    assert.equal(came === text, true);
    await bq.close();
  }
  client.destroy();
}, { ignore });

test("a worker goes on after its TLS connections were cut", async () => {
  const queue = freshQueue();
  const events: string[] = [];
  const bq = new BabelQueue(redis({ url: url(), layout: "zset", ...trusting() }), {
    queue,
    onEvent: ({ type }) => events.push(type),
  });
  const handled: unknown[] = [];
  bq.handle(URN, ({ n }) => handled.push(n));
  const stop = new AbortController();
  const work = bq.run({ signal: stop.signal });
  await bq.publish(URN, { n: 1 });
  await eventually(() => handled.length === 1);
  const server = await RespClient.connect(broker().port);
  await server.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  await server.close();
  await eventually(() => events.includes("disconnected"));
  await bq.publish(URN, { n: 2 });
  await eventually(() => handled.includes(2));
  stop.abort();
  await work;
  await bq.close();
}, { ignore });

test("a server that nobody vouches for is refused, and the error says why", async () => {
  const transport = redis({ url: url() });
  const opening = transport.open({
    clock: systemClock,
    random: () => 0,
    bytes: randomBytes,
    emit: () => {},
  });
  await assert.rejects(opening, { code: "connection", message: /certificate|issuer/i });
  await transport.close();
}, { ignore });

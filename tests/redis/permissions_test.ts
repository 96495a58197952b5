/** What a user has to be allowed, as the documentation says it, and what is said to one who is not. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { BabelQueue, systemClock } from "@bq/core";
import { redis, type RedisTransport } from "@bq/redis";
import * as legacy from "../../transports/redis/_lua_legacy.ts";
import * as shared from "../../transports/redis/_lua.ts";
import * as zset from "../../transports/redis/_lua_zset.ts";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { randomBytes } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis({ own: true }));
const URN = "urn:babel:orders:created";
const DOCS = readFileSync(new URL("../../docs/redis.md", import.meta.url), "utf8");
const PERMISSIONS = /\n## Permissions\n([^]*?)\n## /.exec(DOCS)?.[1] ?? "";
const RULES = /ACL SETUSER \S+ (.+)/.exec(PERMISSIONS)?.[1] ?? "";
const CONTEXT = { clock: systemClock, random: () => 0, bytes: randomBytes, emit: () => {} };

test("the documentation names every command that is sent", () => {
  const named = new Set(PERMISSIONS.match(/\b[A-Z]{3,}\b/g));
  const sources = [...Object.values(legacy), ...Object.values(shared), ...Object.values(zset)]
    .map(({ source }) => source).join("\n");
  const called = [...sources.matchAll(/redis\.p?call\('([A-Z]+)'/g)].map((match) => match[1]!);
  assert.ok(called.length > 20);
  const sent = [...called, "ZCARD", "LLEN", "ECHO", "EVAL", "EVALSHA", "BLPOP", "EXPIRE", "ZRANGE"];
  assert.deepEqual([...new Set(sent)].filter((command) => !named.has(command)), []);
});

for (const layout of ["zset", "legacy"] as const) {
  test(`the documented user can do everything, and nothing is warned of, ${layout}`, async () => {
    const rules = layout === "zset" ? RULES : RULES.replace("~queues:", "~");
    assert.match(rules, /~(queues:)?orders\*/);
    const server = await RespClient.connect(broker().port);
    await server.call("ACL", "SETUSER", `${layout}-worker`, "reset", ...rules.split(" "));
    await server.close();
    const url = `redis://${layout}-worker:secret@127.0.0.1:${broker().port}`;
    const warned: unknown[] = [];
    const { warn } = console;
    console.warn = (...what: unknown[]) => warned.push(...what);
    try {
      const transport = redis({ url, layout, retryAfterMs: 2_000 });
      const bq = new BabelQueue(transport, { queue: "orders", deadLetter: true, maxAttempts: 2 });
      let calls = 0;
      bq.handle(URN, async ({ fails }) => {
        calls++;
        // Longer than a reservation, so that it is extended.
        if (calls === 1) await systemClock.sleep(3_000);
        if (fails) throw new Error("asked to");
      });
      await bq.publish(URN, { fails: true });
      if (layout === "zset") await bq.publish(URN, { fails: false }, { delayMs: 1_000 });
      const stop = new AbortController();
      const work = bq.run({ signal: stop.signal });
      const dead = async (): Promise<number> => (await transport.size("orders.dlq")).ready;
      await eventually(async () => await dead() === 1 && calls === (layout === "zset" ? 3 : 2));
      stop.abort();
      await work;
      assert.equal((await Array.fromAsync(transport.peek("orders.dlq"))).length, 1);
      assert.equal(await transport.requeueUnexpiring("orders"), 0);
      await bq.close();
    } finally {
      console.warn = warn;
    }
    const told = warned.filter((what) => !/failed|dead-letter|deadLettered/i.test(String(what)));
    assert.deepEqual(told, []);
  }, { ignore });
}

async function refused(transport: RedisTransport, message: RegExp): Promise<void> {
  try {
    await assert.rejects(async () => {
      await transport.open(CONTEXT);
      const { signal } = new AbortController();
      const options = { prefetch: 1, intake: signal, lost: () => {} };
      await (await transport.subscribe("orders", options)).receive(1, 0);
    }, { code: "connection", fatal: true, message });
  } finally {
    await transport.close();
  }
}

test("a forbidden command is fatal, and named as far as the server names it", async () => {
  const server = await RespClient.connect(broker().port);
  const url = (user: string): string =>
    `redis://${user}:secret@127.0.0.1:${broker().port}?laravel=1`;
  const user = ["on", ">secret", "~*", "+@all"];
  await server.call("ACL", "SETUSER", "no-evalsha", ...user, "-evalsha");
  await refused(redis(url("no-evalsha")), /Cannot receive from 'orders': NOPERM .*'evalsha'/);
  await server.call("ACL", "SETUSER", "no-lindex", ...user, "-zcount");
  await refused(redis(url("no-lindex")), /Cannot receive from 'orders': .*(zcount|'Permissions')/);
  await server.close();
}, { ignore });

test("a server in protected mode is fatal, with what it says", async () => {
  // A server of this machine lets this machine in, so its refusal is played here.
  const denying = createServer((socket) => {
    socket.on("error", () => {}).resume();
    socket.end("-DENIED Redis is running in protected mode because protected mode is enabled\r\n");
  });
  await new Promise<void>((resolve) => denying.listen(0, "127.0.0.1", resolve));
  const { port } = denying.address() as { port: number };
  await refused(
    redis(`redis://127.0.0.1:${port}`),
    /Cannot connect to Redis: DENIED .*protected mode/,
  );
  await new Promise((resolve) => denying.close(resolve));
});

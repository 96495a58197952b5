/** What `redis()` takes and what it refuses, before anything is sent. */

import assert from "node:assert/strict";
import { BabelQueueError, systemClock } from "@bq/core";
import { redis, type RedisOptions } from "@bq/redis";
import { resolveOptions } from "../../transports/redis/options.ts";
import { slotOf } from "../../transports/redis/_slot.ts";
import { test } from "../harness.ts";
import { randomBytes } from "./lab.ts";

const CONTEXT = { clock: systemClock, random: () => 0, bytes: randomBytes, emit: () => {} };

function refused(options: unknown, message: RegExp): void {
  assert.throws(() => redis(options as RedisOptions), (error: unknown) => {
    assert.ok(error instanceof BabelQueueError);
    assert.equal(error.code, "invalid_option");
    assert.match(error.message, message);
    return true;
  });
}

test("redis() refuses what cannot be, naming option, value and bound", () => {
  refused({ retryAfterMs: -1 }, /'retryAfterMs' to -1: .* above 1000/);
  refused({ retryAfterMs: 0 }, /'retryAfterMs' to 0/);
  refused({ retryAfterMs: NaN }, /'retryAfterMs' to NaN/);
  refused({ retryAfterMs: "90" }, /'retryAfterMs' to '90'/);
  refused({ migrationBatchSize: 0 }, /'migrationBatchSize' to 0: .* -1, or an integer/);
  refused({ migrationBatchSize: -2 }, /'migrationBatchSize' to -2/);
  refused({ migrationBatchSize: 1.5 }, /'migrationBatchSize' to 1\.5/);
  refused({ batchSize: 0 }, /'batchSize' to 0/);
  refused({ batchSize: 1_001 }, /'batchSize' to 1001/);
  refused({ layout: "sorted" }, /'layout' to 'sorted'/);
  refused({ reserve: "lua", layout: "zset" }, /'reserve' to 'lua'/);
  refused({ prefix: 7, layout: "zset" }, /'prefix' to 7/);
  refused({ processingSuffix: "" }, /'processingSuffix' to ''/);
  refused({ url: "localhost:6379" }, /'url'/);
  refused({ url: "http://localhost" }, /'url'/);
  refused({ cluster: [] }, /'cluster'/);
  refused({ cluster: ["nowhere"] }, /'cluster\[0\]'/);
  refused({ retryAfter: 90 }, /'retryAfter': the options here are url, client/);
  refused({ prefix: "x:" }, /'prefix': the legacy layout has no use for it/);
  refused({ reserve: "cjson" }, /'reserve': the legacy layout/);
  refused({ layout: "zset", processingSuffix: ":p" }, /'processingSuffix': the zset layout/);
  refused({ url: "redis://h", cluster: ["redis://h"] }, /'url' and 'cluster' together/);
  refused("redis://h?retry_after=-1", /'url retry_after' to '-1'/);
  refused("redis://h?retry_after=soon", /'url retry_after' to 'soon'/);
  refused("redis://h?migration_batch_size=0", /'url\.migrationBatchSize' to 0/);
  refused(null, /options/);
});

test("a refused URL is not repeated, since it may hold a password", () => {
  assert.throws(() => redis("redis//user:secret@host"), (error: Error) => {
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test("R90 a URL says layout, prefix, retry time and batch size, and the client never sees that", () => {
  const url =
    "rediss://u:p@host:7000/3?laravel=yes&prefix=x%3A&retry_after=30&migration_batch_size=5&family=6";
  const resolved = resolveOptions({ url });
  assert.equal(resolved.url, "rediss://u:p@host:7000/3?family=6");
  assert.equal(resolved.layout, "zset");
  assert.equal(resolved.prefix, "x:");
  assert.equal(resolved.retryAfter, 30);
  assert.equal(resolved.migrationBatchSize, 5);
});

test("R90 laravel_compat is another name, false values are none, null means never", () => {
  assert.equal(resolveOptions({ url: "redis://h?laravel_compat=1" }).layout, "zset");
  assert.equal(resolveOptions({ url: "redis://h?laravel=0" }).layout, "legacy");
  assert.equal(resolveOptions({ url: "redis://h?retry_after=null" }).retryAfter, null);
  assert.equal(resolveOptions({ url: "redis://h?prefix=x:" }).layout, "legacy");
});

test("an option beside the URL comes first", () => {
  const url = "redis://h?laravel=1&retry_after=30";
  assert.equal(resolveOptions({ url, layout: "legacy" }).layout, "legacy");
  assert.equal(resolveOptions({ url, retryAfterMs: null }).retryAfter, null);
  assert.equal(resolveOptions({ url, retryAfterMs: 1_500 }).retryAfter, 2);
});

test("the defaults are the contract's", () => {
  assert.deepEqual(resolveOptions({}), {
    url: "redis://localhost:6379/0",
    client: undefined,
    cluster: undefined,
    connection: {},
    layout: "legacy",
    prefix: "queues:",
    retryAfter: 90,
    migrationBatchSize: -1,
    processingSuffix: ":processing",
    reserve: "splice",
    batchSize: 64,
  });
});

test("V132 a lease says what it can do", () => {
  assert.equal(redis({ retryAfterMs: null }).capabilities.leases, false);
  assert.equal(redis().capabilities.leases, true);
  assert.equal(redis().policy.broker, "redis-legacy");
  assert.equal(redis({ layout: "zset" }).policy.broker, "redis-zset");
});

test("a client that turns replies into text is refused at once", () => {
  const none = (): Promise<unknown> => Promise.resolve(null);
  refused({ client: { send: none, getBuffer: none } }, /turns replies into text/);
  refused({ client: { sendCommand: none, get: none } }, /version 5 or newer/);
  refused({ client: {} }, /neither callBuffer\(\)/);
  refused({ client: null }, /must be a Redis client/);
  refused({ client: "redis://h" }, /must be a Redis client/);
});

test("a raw client that is found to change bytes does not open", async () => {
  const lossy = { call: () => Promise.resolve(new TextEncoder().encode("\ufffd")) };
  await assert.rejects(redis({ client: lossy }).open(CONTEXT), /changes bytes/);
  const text = { call: () => Promise.resolve("text") };
  await assert.rejects(redis({ client: text }).open(CONTEXT), /does not return bytes/);
});

test("an empty queue name is refused", async () => {
  const transport = redis({ client: { call: (args) => Promise.resolve(args[1] as Uint8Array) } });
  await transport.open(CONTEXT);
  await assert.rejects(transport.publish("", []), { code: "invalid_option" });
  const { signal } = new AbortController();
  await assert.rejects(
    transport.subscribe("", { prefetch: 1, intake: signal, lost: () => {} }),
    { code: "invalid_option" },
  );
  await transport.close();
});

test("on a cluster a queue without a hash tag is refused, and the error names the fix", async () => {
  for (const layout of ["legacy", "zset"] as const) {
    let sent = 0;
    const client = {
      cluster: true,
      call: (args: readonly (string | Uint8Array)[]) => {
        sent++;
        return Promise.resolve(args[1] as Uint8Array);
      },
    };
    const transport = redis({ client, layout });
    await transport.open(CONTEXT);
    await assert.rejects(
      transport.publish("orders", [{ body: new Uint8Array(1) }]),
      /Cannot use queue 'orders' on a Redis Cluster: .* name the queue '\{orders\}'/,
    );
    assert.equal(sent, 1, "nothing but the look at bytes was sent");
    await transport.close();
  }
});

test("slots are those of Redis", () => {
  // Values of CLUSTER KEYSLOT.
  const slots: Readonly<Record<string, number>> = {
    "": 0,
    "foo": 12182,
    "123456789": 12739,
    "{user1000}.following": slotOf("user1000"),
    "foo{}{bar}": 8363,
    "foo{{bar}}zap": 4015,
    "foo{bar}{zap}": slotOf("bar"),
    "somekey": 11058,
    "größe": slotOf("{größe}"),
  };
  for (const [key, slot] of Object.entries(slots)) assert.equal(slotOf(key), slot, key);
});

test("a URL that says something nobody reads is refused", () => {
  refused({ url: "redis://localhost/orders" }, /url path' to '\/orders'.*database number/);
  refused({ url: "redis://localhost/3/4" }, /url path/);
  refused({ url: "redis://localhost?laravel=ja" }, /url laravel' to 'ja'/);
  refused({ url: "redis://localhost?layout=zset" }, /url layout' to 'zset'.*as an option/);
  refused({ url: "redis://localhost?retry_after=1" }, /url retry_after' to '1'.*seconds above 1/);
});

test("a client that throws is as good as one that rejects", async () => {
  const transport = redis({
    client: {
      call([command, argument]) {
        if (command !== "ECHO") throw new Error("not today");
        return Promise.resolve(argument as Uint8Array);
      },
    },
  });
  await transport.open(CONTEXT);
  const [outcome] = await transport.publish("orders", [{ body: new Uint8Array(2) }]);
  assert.equal(outcome!.status, "uncertain");
  const options = { prefetch: 1, intake: new AbortController().signal, lost: () => {} };
  const subscription = await transport.subscribe("orders", options);
  await assert.rejects(subscription.receive(1, 0), { code: "connection", message: /not today/ });
  await transport.close();
});

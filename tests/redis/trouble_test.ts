/** Keys of the wrong type, a full server, and connections that break at the worst moment. */

import assert from "node:assert/strict";
import { ConnectionError, type Delivery, systemClock } from "@bq/core";
import { redis, type RedisArgument, type RedisClient } from "@bq/redis";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { B0, B1 } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { Lab, latin, randomBytes, text } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis({ own: true }));
const LAYOUTS = ["legacy", "zset"] as const;
type Layout = typeof LAYOUTS[number];

async function withLab(layout: Layout, run: (lab: Lab) => Promise<void>): Promise<void> {
  const lab = await Lab.open(broker().port, { layout });
  try {
    await run(lab);
  } finally {
    await lab.close();
  }
}

/** Settles one delivery and reserves in the same tick. */
async function turn(lab: Lab, delivery: Delivery, max: number): Promise<readonly Delivery[]> {
  const subscription = await lab.subscription();
  const settled = subscription.settle(delivery, { kind: "ack" });
  const taken = subscription.receive(max, 0);
  assert.equal(await settled, "settled");
  return await taken;
}

for (const layout of LAYOUTS) {
  test(
    `a ready list of the wrong type: publish and receive say so, acks still work, ${layout}`,
    async () => {
      await withLab(layout, async (lab) => {
        await lab.put({ ready: [B0] });
        const delivery = await lab.reserveOne();
        await lab.server.call("SET", lab.keys["ready"]!, "no list");
        const [outcome] = await lab.transport.publish(lab.queue, [{ body: latin(B0) }]);
        assert.equal(outcome!.status, "failed");
        assert.match((outcome as { error: Error }).error.message, /Cannot publish to .*WRONGTYPE/);
        const subscription = await lab.subscription();
        const settled = subscription.settle(delivery, { kind: "ack" });
        const received = subscription.receive(1, 0);
        assert.equal(await settled, "settled");
        await assert.rejects(received, (error: unknown) => {
          assert.ok(error instanceof ConnectionError);
          assert.equal(error.fatal, false);
          assert.match(error.message, /Cannot receive from .*WRONGTYPE/);
          return true;
        });
      });
    },
    { ignore },
  );

  test(`a reservation that cannot be written leaves the job where it is, ${layout}`, async () => {
    for (const max of [1, 5]) {
      await withLab(layout, async (lab) => {
        await lab.put({ ready: [B0, B1] });
        const place = lab.keys[layout === "zset" ? "reserved" : "deadlines"]!;
        await lab.server.call("SET", place, "no set");
        await assert.rejects(lab.reserve(max), /WRONGTYPE/);
        await lab.server.call("DEL", place);
        const { ready, processing } = await lab.look();
        assert.deepEqual([ready, processing], [[B0, B1], []]);
      });
    }
  }, { ignore });

  test(
    `a full server: publish names the reason, what is in flight is settled, then all goes on, ${layout}`,
    async () => {
      await withLab(layout, async (lab) => {
        await lab.put({ ready: [B0, B1] });
        const delivery = await lab.reserveOne();
        await lab.server.call("CONFIG", "SET", "maxmemory", "1");
        try {
          const [outcome] = await lab.transport.publish(lab.queue, [{ body: latin(B0) }]);
          assert.equal(outcome!.status, "failed");
          assert.match((outcome as { error: Error }).error.message, /OOM/);
          await assert.rejects(lab.reserve(5), /OOM/);
          const subscription = await lab.subscription();
          assert.equal(await subscription.settle(delivery, { kind: "return" }), "settled");
        } finally {
          await lab.server.call("CONFIG", "SET", "maxmemory", "0");
        }
        assert.equal((await lab.reserve(5)).length, 2);
      });
    },
    { ignore },
  );
}

test("a processing list of the wrong type leaves no deadline behind", async () => {
  for (const max of [1, 5]) {
    await withLab("legacy", async (lab) => {
      await lab.put({ ready: [B0, B1] });
      await lab.server.call("SET", lab.keys["processing"]!, "no list");
      await assert.rejects(lab.reserve(max), /WRONGTYPE/);
      await lab.server.call("DEL", lab.keys["processing"]!);
      const { ready, deadlines } = await lab.look();
      assert.deepEqual([ready, deadlines], [[B0, B1], []]);
    });
  }
}, { ignore });

test("a migration into a key of the wrong type removes nothing", async () => {
  await withLab("zset", async (lab) => {
    await lab.put({ delayed: [{ member: B0, score: 1 }], reserved: [{ member: B1, score: 1 }] });
    for (const key of ["ready", "notify"]) {
      await lab.server.call("SET", lab.keys[key]!, "no list");
      await assert.rejects(lab.reserve(), /WRONGTYPE/);
      await lab.server.call("DEL", lab.keys[key]!);
      const { delayed, reserved } = await lab.look();
      assert.deepEqual([delayed.length, reserved.length], [1, 1]);
    }
    assert.equal((await lab.reserve(5)).length, 2);
  });
}, { ignore });

test("a retry copy that cannot be written is that delivery's own trouble", async () => {
  await withLab("zset", async (lab) => {
    await lab.put({ ready: [B0, B1], notify: 2 });
    const [first, second] = await lab.reserve(2);
    const before = (await lab.look()).reserved;
    await lab.server.call("SET", lab.keys["delayed"]!, "no set");
    const subscription = await lab.subscription();
    const retry = { kind: "retry", body: latin(B1), attempts: 1, delayMs: 0 } as const;
    const failing = subscription.settle(first!, retry);
    const working = subscription.settle(second!, { kind: "ack" });
    await assert.rejects(failing, { code: "settle_write_failed", message: /WRONGTYPE/ });
    assert.equal(await working, "settled");
    await lab.server.call("DEL", lab.keys["delayed"]!);
    const kept = (await lab.look()).reserved;
    assert.deepEqual(kept, before.filter(({ member }) => member === B1));
    assert.equal(await subscription.settle(first!, retry), "settled");
  });
}, { ignore });

test("push and tokens are written together or not at all", async () => {
  await withLab("zset", async (lab) => {
    await lab.server.call("SET", lab.keys["notify"]!, "no list");
    const messages = [{ body: latin(B0) }, { body: latin(B1) }];
    const outcomes = await lab.transport.publish(lab.queue, messages);
    assert.deepEqual(outcomes.map(({ status }) => status), ["failed", "failed"]);
    await lab.server.call("DEL", lab.keys["notify"]!);
    assert.deepEqual((await lab.look()).ready, []);
  });
}, { ignore });

/** A client whose connection breaks when it is told to: before a call is sent, or behind it. */
class Breaking implements RedisClient {
  readonly #inner: RespClient;
  break: "before" | "behind" | undefined;
  calls = 0;

  constructor(inner: RespClient) {
    this.#inner = inner;
  }

  async call(args: readonly RedisArgument[]): Promise<never> {
    this.calls++;
    const how = this.break;
    this.break = undefined;
    if (how === "before") throw new Error("Connection is closed.");
    const reply = await this.#inner.call(...args);
    if (how === "behind") throw new Error("Connection is closed.");
    return reply as never;
  }
}

async function withBreaking(
  layout: Layout,
  run: (lab: Lab, client: Breaking) => Promise<void>,
): Promise<void> {
  const lab = await Lab.open(broker().port, { layout });
  const connection = await RespClient.connect(broker().port);
  const client = new Breaking(connection);
  const transport = redis({ client, layout });
  try {
    await transport.open({ clock: lab.clock, random: () => 0, bytes: randomBytes, emit: () => {} });
    Object.defineProperty(lab, "transport", { value: transport });
    await run(lab, client);
  } finally {
    await transport.close();
    await lab.close();
    await connection.close();
  }
}

for (const layout of LAYOUTS) {
  for (const how of ["before", "behind"] as const) {
    test(`a settle whose call breaks ${how} the server is settled once, ${layout}`, async () => {
      for (const verdict of ["ack", "retry", "deadLetter"] as const) {
        await withBreaking(layout, async (lab, client) => {
          await lab.put({ ready: [B0] });
          const delivery = await lab.reserveOne();
          const subscription = await lab.subscription();
          client.break = how;
          const settled = subscription.settle(
            delivery,
            verdict === "ack"
              ? { kind: "ack" }
              : verdict === "retry"
              ? { kind: "retry", body: latin(B1), attempts: 1, delayMs: 0 }
              : {
                kind: "deadLetter",
                record: latin("record"),
                queue: `${lab.queue}.dlq`,
                reason: "failed",
              },
          );
          assert.equal(await settled, "settled");
          const { ready, processing, delayed, reserved } = await lab.look();
          assert.deepEqual([processing, reserved], [[], []]);
          const copies = [...ready, ...delayed.map(({ member }) => member)];
          assert.deepEqual(copies, verdict === "retry" ? [B1] : []);
          assert.deepEqual(await lab.records(), verdict === "deadLetter" ? ["record"] : []);
        });
      }
    }, { ignore });
  }

  test(
    `a publish whose call breaks behind the server is uncertain, and sent once, ${layout}`,
    async () => {
      await withBreaking(layout, async (lab, client) => {
        await lab.transport.publish(lab.queue, [{ body: latin("warm up") }]);
        client.break = "behind";
        const calls = client.calls;
        const [outcome] = await lab.transport.publish(lab.queue, [{ body: latin(B0) }]);
        assert.equal(outcome!.status, "uncertain");
        assert.equal(client.calls, calls + 1);
        assert.deepEqual((await lab.look()).ready, ["warm up", B0]);
      });
    },
    { ignore },
  );

  test(
    `a receive whose call breaks rejects, and the settles beside it are made, ${layout}`,
    async () => {
      await withBreaking(layout, async (lab, client) => {
        await lab.put({ ready: [B0] });
        const delivery = await lab.reserveOne();
        const subscription = await lab.subscription();
        client.break = "before";
        const settled = subscription.settle(delivery, { kind: "ack" });
        const received = subscription.receive(1, 0);
        await assert.rejects(
          received,
          (error: unknown) => error instanceof ConnectionError && !error.fatal,
        );
        assert.equal(await settled, "settled");
      });
    },
    { ignore },
  );
}

test("a server that forgets its scripts gets them again", async () => {
  for (const layout of LAYOUTS) {
    await withLab(layout, async (lab) => {
      await lab.put({ ready: [B0, B1] });
      const delivery = await lab.reserveOne();
      await lab.server.call("SCRIPT", "FLUSH");
      assert.deepEqual((await turn(lab, delivery, 1)).map(({ body }) => text(body)), [B1]);
      await lab.server.call("SCRIPT", "FLUSH");
      const [outcome] = await lab.transport.publish(lab.queue, [{ body: latin(B0) }]);
      assert.equal(outcome!.status, "confirmed");
    });
  }
}, { ignore });

test("wrong credentials are fatal, a server that is not there is not", async () => {
  const open = (url: string): Promise<void> => {
    const transport = redis(url);
    return transport.open({
      clock: systemClock,
      random: () => 0,
      bytes: randomBytes,
      emit: () => {},
    }).finally(() => transport.close());
  };
  await assert.rejects(open(`redis://nobody:wrong@127.0.0.1:${broker().port}`), {
    code: "connection",
    fatal: true,
    message: /WRONGPASS/,
  });
  await assert.rejects(open(`redis://127.0.0.1:${broker().port}/99`), {
    code: "connection",
    fatal: true,
    message: /DB index/,
  });
  await assert.rejects(open("redis://127.0.0.1:1"), {
    code: "connection",
    fatal: false,
    message: /ECONNREFUSED/,
  });
}, { ignore });

test("a user without permission is told so, and it is fatal", async () => {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  const user = `u${crypto.randomUUID().slice(0, 8)}`;
  await lab.server.call(
    "ACL",
    "SETUSER",
    user,
    "on",
    ">secret",
    "~*",
    "+@all",
    "-evalsha",
    "-eval",
  );
  const transport = redis(`redis://${user}:secret@127.0.0.1:${broker().port}?laravel=1`);
  try {
    await transport.open({
      clock: systemClock,
      random: () => 0,
      bytes: randomBytes,
      emit: () => {},
    });
    const [outcome] = await transport.publish(lab.queue, [{ body: latin(B0) }]);
    assert.equal(outcome!.status, "failed");
    assert.match((outcome as { error: Error }).error.message, /NOPERM/);
    const subscription = await transport.subscribe(lab.queue, {
      prefetch: 1,
      intake: new AbortController().signal,
      lost: () => {},
    });
    await assert.rejects(subscription.receive(1, 0), { code: "connection", fatal: true });
  } finally {
    await transport.close();
    await lab.server.call("ACL", "DELUSER", user);
    await lab.close();
  }
}, { ignore });

test("a large message is acknowledged like a small one, also when its call breaks", async () => {
  const body = `{"job":"urn:a:b:c","data":{"pad":"${"x".repeat(50_000)}"},"attempts":0}`;
  for (const how of [undefined, "before", "behind"] as const) {
    await withBreaking("zset", async (lab, client) => {
      await lab.put({ ready: [body] });
      const delivery = await lab.reserveOne();
      const subscription = await lab.subscription();
      client.break = how;
      assert.equal(await subscription.settle(delivery, { kind: "ack" }), "settled");
      assert.deepEqual((await lab.look()).reserved, []);
      assert.equal(await subscription.settle(delivery, { kind: "ack" }), "expired");
    });
  }
}, { ignore });

test("publishes of one tick share a call, and each has its own outcome", async () => {
  for (const layout of LAYOUTS) {
    await withBreaking(layout, async (lab, client) => {
      const body = (n: number): Uint8Array => latin(`body ${n}`);
      await lab.transport.publish(lab.queue, [{ body: body(0) }]);
      const calls = client.calls;
      const called = new AbortController();
      const outcomes = [1, 2, 3].map((n) =>
        lab.transport.publish(lab.queue, [{ body: body(n) }], { signal: called.signal })
      );
      const late = lab.transport.publish(lab.queue, [{ body: body(4) }]);
      called.abort();
      const ends = (await Promise.all(outcomes)).map(([outcome]) => outcome!.status);
      assert.deepEqual(ends, ["failed", "failed", "failed"]);
      assert.equal((await late)[0]!.status, "confirmed");
      assert.equal(client.calls, calls + 1);
      // What was called off before it was sent is not sent.
      assert.deepEqual((await lab.look()).ready, ["body 0", "body 4"]);
    });
  }
}, { ignore });

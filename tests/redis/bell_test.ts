/** The reserve behind the blocking command: what wakes an idle worker brings the message with it. */

import assert from "node:assert/strict";
import { type Delivery, type Subscription, systemClock } from "@bq/core";
import { redis, type RedisArgument, type RedisClient, type RedisOptions } from "@bq/redis";
import { absentRedis, brokerOfFile, RespClient, startRedis } from "../brokers/mod.ts";
import { eventually, test } from "../harness.ts";
import { Lab, latin, randomBytes, text } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const body = (n: number): string => `{"job":"urn:a:b:c","n":${n},"attempts":0}`;
const FOREVER_MS = 600_000;

/** A client that tells what it sends, and whose answers can be held back. */
class Line implements RedisClient {
  readonly #port: number;
  readonly #inner: Promise<RespClient>;
  readonly sent: string[] = [];
  /** How long the server was asked to block, in seconds. */
  readonly slices: number[] = [];
  readonly copies: Line[] = [];
  /** An answer is handed on when this has resolved. */
  hold: Promise<void> = Promise.resolve();
  cut = false;
  closed = false;
  /** A copy connects when this has resolved. */
  connecting: Promise<void> = Promise.resolve();

  constructor(port: number) {
    this.#port = port;
    this.#inner = RespClient.connect(port);
  }

  async call(args: readonly RedisArgument[]): Promise<never> {
    this.sent.push(String(args[0]));
    if (args[0] === "BLPOP") this.slices.push(Number(args.at(-1)));
    if (this.cut) throw new Error("the line is cut");
    const answer = await (await this.#inner).call(...args);
    await this.hold;
    return answer as never;
  }

  async connect(): Promise<void> {
    await this.connecting;
  }

  duplicate(): RedisClient {
    const copy = new Line(this.#port);
    copy.connecting = this.connecting;
    this.copies.push(copy);
    return copy;
  }

  async close(): Promise<void> {
    this.closed = true;
    await (await this.#inner).close();
  }
}

interface Scene {
  readonly lab: Lab;
  readonly line: Line;
  readonly subscription: Subscription;
  /** The connection that blocks, once there is one. */
  readonly blocking: () => Line;
  readonly intake: AbortController;
}

async function scene(
  run: (scene: Scene) => Promise<void>,
  options: RedisOptions = {},
): Promise<void> {
  const lab = await Lab.open(broker().port, { layout: "zset" });
  const line = new Line(broker().port);
  const transport = redis({ client: line, layout: "zset", ...options });
  const intake = new AbortController();
  try {
    await transport.open({ clock: lab.clock, random: () => 0, bytes: randomBytes, emit: () => {} });
    const subscription = await transport.subscribe(lab.queue, {
      prefetch: 1,
      intake: intake.signal,
      lost: () => {},
    });
    await run({ lab, line, subscription, intake, blocking: () => line.copies.at(-1)! });
  } finally {
    await transport.close();
    await lab.close();
    await line.close();
  }
}

async function isBlocked(lab: Lab): Promise<void> {
  await eventually(async () => {
    const clients = await lab.server.text("CLIENT", "LIST");
    assert.equal(clients.match(/ cmd=blpop /g)?.length, 1);
  });
}

async function rings(lab: Lab): Promise<number> {
  return (await lab.server.list("KEYS", `${lab.keys["notify"]}:*`)).length;
}

const bodies = (deliveries: readonly Delivery[]): string[] =>
  deliveries.map(({ body }) => text(body));

test(
  "a message comes with the answer of the blocking connection, several at a time",
  () =>
    scene(async ({ lab, line, subscription, blocking }) => {
      const waiting = subscription.receive(8, FOREVER_MS);
      await isBlocked(lab);
      const before = line.sent.length;
      await lab.transport.publish(lab.queue, [0, 1, 2].map((n) => ({ body: latin(body(n)) })));
      const taken = await waiting;
      assert.deepEqual(bodies(taken), [body(0), body(1), body(2)]);
      assert.equal(line.sent.length, before, line.sent.join());
      assert.deepEqual(blocking().sent.slice(-2), ["BLPOP", "EVALSHA"]);
      for (const delivery of taken) {
        assert.equal(await subscription.settle(delivery, { kind: "ack" }), "settled");
      }
      assert.deepEqual((await lab.look()).reserved, []);
    }),
  { ignore },
);

test(
  "such a reservation lasts as long as any, however late in its wait it was made",
  () =>
    scene(async ({ lab, subscription }) => {
      lab.now = 1_760_000_000.9;
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      await lab.transport.publish(lab.queue, [{ body: latin(body(0)) }]);
      const [delivery] = await waiting;
      const { score } = (await lab.look()).reserved[0]!;
      assert.equal(score, 1_760_000_001 + 90);
      assert.equal(delivery!.leaseUntilMs, score * 1_000);
    }),
  { ignore },
);

test(
  "a stop ends the wait by a ring, not by dropping the connection",
  () =>
    scene(async ({ lab, subscription, intake, blocking }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      const [used, sent] = [blocking(), blocking().sent.length];
      intake.abort();
      assert.deepEqual(await waiting, []);
      assert.equal(blocking(), used);
      assert.equal(used.sent.length, sent);
      assert.equal(await used.call(["PING"]), "PONG");
      assert.equal(await rings(lab), 0);
      assert.deepEqual(await subscription.receive(1, FOREVER_MS), []);
    }),
  { ignore },
);

test("a message that comes together with the stop is handed out, or still waits", async () => {
  for (let round = 0; round < 60; round++) {
    await scene(async ({ lab, subscription, intake }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      if (round % 2 === 0) await isBlocked(lab);
      const published = lab.transport.publish(lab.queue, [{ body: latin(body(round)) }]);
      for (let turn = 0; turn < round % 7; turn++) await Promise.resolve();
      intake.abort();
      const taken = await waiting;
      await published;
      const { ready, reserved } = await lab.look();
      assert.equal(taken.length + ready.length, 1);
      assert.equal(reserved.length, taken.length);
      await subscription.close();
      const after = await lab.look();
      assert.deepEqual(after.reserved, []);
      assert.equal(after.ready.length + after.delayed.length, 1);
    });
  }
}, { ignore });

test(
  "what comes after its subscription was closed by force is given back",
  () =>
    scene(async ({ lab, subscription, blocking }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      const held = Promise.withResolvers<void>();
      blocking().hold = held.promise;
      await lab.transport.publish(lab.queue, [{ body: latin(body(0)) }]);
      await eventually(async () => assert.equal((await lab.look()).reserved.length, 1));
      await subscription.close({ signal: AbortSignal.abort() });
      assert.deepEqual(await waiting, []);
      held.resolve();
      await eventually(async () => {
        const { reserved, delayed } = await lab.look();
        assert.deepEqual([reserved.length, delayed.length], [0, 1]);
      });
    }),
  { ignore },
);

test(
  "a stop that cannot ring drops the connection",
  () =>
    scene(async ({ lab, line, subscription, intake }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      line.cut = true;
      intake.abort();
      assert.deepEqual(await waiting, []);
      await eventually(async () => {
        assert.doesNotMatch(await lab.server.text("CLIENT", "LIST"), / cmd=blpop /);
      });
    }),
  { ignore },
);

test(
  "a wait that does not hear its ring is dropped",
  () =>
    scene(async ({ lab, subscription, intake, blocking }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      blocking().hold = new Promise(() => {});
      const startMs = systemClock.elapsed();
      intake.abort();
      assert.deepEqual(await waiting, []);
      assert.ok(systemClock.elapsed() - startMs >= 1_900);
    }),
  { ignore },
);

test(
  "without deadlines nothing is reserved on a connection that may be dropped",
  () =>
    scene(async ({ lab, subscription, intake, blocking }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      await lab.transport.publish(lab.queue, [{ body: latin(body(0)) }]);
      assert.deepEqual(bodies(await waiting), [body(0)]);
      assert.ok(blocking().sent.every((command) => command === "BLPOP"));
      const idle = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      intake.abort();
      assert.deepEqual(await idle, []);
    }, { retryAfterMs: null }),
  { ignore },
);

test(
  "messages come though the list of tokens is none",
  () =>
    scene(async ({ lab, subscription }) => {
      await lab.server.call("SET", lab.keys["notify"]!, "no list");
      const waiting = subscription.receive(1, FOREVER_MS);
      await lab.server.call("RPUSH", lab.keys["ready"]!, latin(body(0)));
      assert.deepEqual(bodies(await waiting), [body(0)]);
    }),
  { ignore },
);

test(
  "a delayed message comes when it is due, though the wait began before",
  () =>
    scene(async ({ lab, subscription }) => {
      await lab.put({ delayed: [{ member: body(0), score: 1_760_000_001 }] });
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      lab.now += 1;
      assert.deepEqual(bodies(await waiting), [body(0)]);
    }),
  { ignore },
);

test(
  "a server that forgot its scripts between two waits loses nothing",
  () =>
    scene(async ({ lab, subscription }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      await lab.server.call("SCRIPT", "FLUSH");
      await lab.transport.publish(lab.queue, [{ body: latin(body(0)) }]);
      assert.deepEqual(bodies(await waiting), [body(0)]);
    }),
  { ignore },
);

test(
  "a full batch of one receive lets the next one look, whatever became of the tokens",
  () =>
    scene(async ({ lab, subscription, blocking }) => {
      const waiting = [subscription.receive(1, FOREVER_MS), subscription.receive(1, FOREVER_MS)];
      await isBlocked(lab);
      // The wait takes one token, and the reserve behind it the other one.
      await lab.transport.publish(lab.queue, [0, 1].map((n) => ({ body: latin(body(n)) })));
      assert.deepEqual(bodies((await Promise.all(waiting)).flat()), [body(0), body(1)]);
      assert.equal(blocking().sent.filter((command) => command === "BLPOP").length, 1);
    }),
  { ignore },
);

test(
  "a user who may not let a key expire stops without a loss",
  () =>
    scene(async ({ lab, subscription, intake, blocking }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      const used = blocking();
      await lab.server.call("ACL", "SETUSER", "default", "-expire");
      try {
        intake.abort();
        assert.deepEqual(await waiting, []);
      } finally {
        await lab.server.call("ACL", "SETUSER", "default", "+@all");
      }
      assert.equal(used.closed, false);
    }),
  { ignore },
);

test(
  "a connection that cannot even be closed is replaced",
  () =>
    scene(async ({ lab, subscription, blocking }) => {
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      const bad = blocking();
      await bad.close();
      bad.close = () => Promise.reject(new Error("no"));
      await eventually(() => assert.notEqual(blocking(), bad));
      await lab.transport.publish(lab.queue, [{ body: latin(body(0)) }]);
      assert.deepEqual(bodies(await waiting), [body(0)]);
    }),
  { ignore },
);

test(
  "the time of a reservation begins when its connection stands",
  () =>
    scene(async ({ lab, line, subscription }) => {
      const standing = Promise.withResolvers<void>();
      line.connecting = standing.promise;
      const waiting = subscription.receive(1, FOREVER_MS);
      await eventually(() => line.copies.length === 1);
      lab.now += 5;
      standing.resolve();
      await isBlocked(lab);
      await lab.transport.publish(lab.queue, [{ body: latin(body(0)) }]);
      await waiting;
      const { score } = (await lab.look()).reserved[0]!;
      assert.ok(score >= lab.now + 90, `${score}`);
    }),
  { ignore },
);

test(
  "R19 a wait blocks for a second at a time, and no longer than the receive has",
  () =>
    scene(async ({ lab, line, subscription, intake, blocking }) => {
      assert.deepEqual(await subscription.receive(1, 500), []);
      // On a machine that was too slow to block at all there are none.
      for (const slice of line.copies[0]?.slices ?? []) {
        assert.ok(slice > 0 && slice <= 0.5, `${slice} s`);
      }
      const waiting = subscription.receive(1, FOREVER_MS);
      await isBlocked(lab);
      intake.abort();
      assert.deepEqual(await waiting, []);
      assert.equal(blocking().slices.at(-1), 1);
    }),
  { ignore },
);

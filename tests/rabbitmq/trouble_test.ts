/** What ends channels and connections, and that a worker goes on by itself. */

import assert from "node:assert/strict";
import amqp from "amqplib";
import { ConnectionError } from "@bq/core";
import type { RabbitmqOptions } from "@bq/rabbitmq";
import { absentRabbitmq, brokerOfFile, startProxy, startRabbitmq } from "../brokers/mod.ts";
import { U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { inLab, type Lab } from "./lab.ts";

const ignore = await absentRabbitmq();
/** Deliveries that are not acknowledged within a second end their channel, as soon as the broker looks. */
const VM = "-rabbit consumer_timeout 1000 -rabbit channel_tick_interval 300";
const broker = brokerOfFile(ignore, () => startRabbitmq({ vm: VM }));
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore, timeoutMs: 120_000 });

/** A rule that holds however messages are received: each way gets its channel back by itself. */
const both = (name: string, work: (lab: Lab, way: RabbitmqOptions) => Promise<void>): void => {
  for (const receive of ["consume", "get"] as const) {
    it(`'${receive}': ${name}`, (lab) => work(lab, { receive, pollIntervalMs: 50 }));
  }
};

/** A worker at work, its end, and what it did. */
function working(lab: Lab, transport?: ReturnType<Lab["transport"]>) {
  const { bq, seen } = lab.app({ maxAttempts: 50, deadLetter: true }, transport);
  const stop = new AbortController();
  const handled: number[] = [];
  return {
    bq,
    seen,
    handled,
    start(): Promise<void> {
      const run = bq.run({ signal: stop.signal });
      run.catch(() => {});
      return run;
    },
    stop: (): void => stop.abort(),
  };
}

/** Lets a worker handle a message before some trouble, and another one behind it. */
async function goesOn(
  lab: Lab,
  options: RabbitmqOptions,
  trouble: (worker: ReturnType<typeof working>) => Promise<void>,
): Promise<void> {
  const worker = working(lab, lab.transport(options));
  worker.bq.handle(U, ({ n }) => void worker.handled.push(Number(n)));
  await worker.bq.publish(U, { n: 0 });
  const run = worker.start();
  await eventually(() => worker.handled.length === 1);
  await trouble(worker);
  await worker.bq.publish(U, { n: 1 });
  await eventually(() => worker.handled.includes(1));
  worker.stop();
  await run;
  await worker.bq.close();
}

both(
  "a delivery of a channel that the broker timed out settles as nothing, is told, and comes again",
  async (lab, way) => {
    const worker = working(lab, lab.transport(way));
    const aborted: boolean[] = [];
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    worker.bq.handle(U, async (_, ctx) => {
      if (aborted.length === 0) {
        await new Promise<void>((resolve) => {
          ctx.signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
      aborted.push(ctx.signal.aborted);
      if (aborted.length === 2) end();
    });
    await worker.bq.publish(U, {});
    const run = worker.start();
    const lost = await worker.seen.waitFor("leaseLost");
    assert.match(lost.error!.message, /timed out/);
    await ended;
    assert.deepEqual(aborted, [true, false]);
    const warnings = worker.seen.of("warning").map(({ message }) => message);
    assert.ok(warnings.some((message) => /channel_lost.*timed out/.test(message)), `${warnings}`);
    assert.equal(worker.seen.of("disconnected").length, 0, "the connection stays");
    worker.stop();
    await run;
    assert.equal(worker.seen.of("handled").length, 1);
    assert.equal(await lab.admin.count(lab.queue), 0);
  },
);

both("a settle on a dead channel touches nothing of the next one", async (lab, way) => {
  const { transport } = await lab.open(way);
  const body = new TextEncoder().encode("any");
  await transport.publish(lab.queue, [{ body }]);
  const lost: unknown[] = [];
  const { signal } = new AbortController();
  const subscription = await transport.subscribe(lab.queue, {
    prefetch: 5,
    intake: signal,
    lost: (delivery) => void lost.push(delivery),
  });
  const [late] = await subscription.receive(1, 5_000);
  await eventually(() => lost.length === 1);
  assert.equal(lost[0], late);
  const [again] = await subscription.receive(1, 5_000);
  for (
    const verdict of [
      { kind: "ack" },
      { kind: "return" },
      { kind: "retry", body, attempts: 1, delayMs: 0 },
      { kind: "deadLetter", record: body, queue: `${lab.queue}.dlq`, reason: "failed" },
    ] as const
  ) {
    assert.equal(await subscription.settle(late!, verdict), "expired", verdict.kind);
  }
  assert.equal(await subscription.settle(again!, { kind: "ack" }), "settled");
  await subscription.close();
  assert.equal(await lab.admin.count(lab.queue), 0);
  assert.equal(await lab.admin.count(`${lab.queue}.dlq`), null);
});

both("a worker goes on after its connections were closed by an operator", async (lab, way) => {
  const worker = working(lab, lab.transport(way));
  worker.bq.handle(U, ({ n }) => void worker.handled.push(Number(n)));
  await worker.bq.publish(U, { n: 0 });
  const run = worker.start();
  await eventually(() => worker.handled.length === 1);
  for (let n = 1; n <= 2; n++) {
    await broker().ctl("close_all_connections", "asked to");
    await worker.seen.waitFor(() => worker.seen.of("disconnected").length >= n);
    await worker.bq.publish(U, { n });
    await eventually(() => worker.handled.includes(n));
  }
  worker.stop();
  await run;
});

both(
  "a worker goes on after its broker was restarted, with what was not settled and what came since",
  async (lab, way) => {
    const worker = working(lab, lab.transport(way));
    const lost: boolean[] = [];
    worker.bq.handle(U, async ({ n }, ctx) => {
      worker.handled.push(Number(n));
      if (worker.handled.length > 1) return;
      await new Promise<void>((resolve) => {
        ctx.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      lost.push(ctx.signal.aborted);
    });
    await worker.bq.publish(U, { n: 0 });
    const run = worker.start();
    await eventually(() => worker.handled.length === 1);
    await broker().restart();
    await worker.bq.publish(U, { n: 1 }, { timeoutMs: 60_000 });
    // The longer the broker is away, the longer the worker waits before it asks again.
    await eventually(() => worker.handled.includes(1), { timeoutMs: 60_000 });
    worker.stop();
    await run;
    assert.deepEqual(lost, [true]);
    assert.deepEqual(worker.handled.slice(0, 2), [0, 0]);
    assert.equal(await lab.admin.count(lab.queue), 0);
  },
);

both(
  "a worker whose queue was deleted declares it again, and goes on",
  (lab, way) =>
    goesOn(lab, way, async ({ seen }) => {
      await lab.admin.delete(lab.queue);
      await seen.waitFor("receiveFailed");
      await eventually(async () => await lab.admin.count(lab.queue) === 0);
    }),
);

both(
  "a worker whose broker falls silent notices by the heartbeat, and goes on when it is back",
  async (lab, way) => {
    const proxy = await startProxy(broker().port);
    const url = new URL(lab.url);
    url.port = `${proxy.port}`;
    try {
      await goesOn(lab, { url: url.href, heartbeatMs: 1_000, ...way }, async ({ seen }) => {
        proxy.stall();
        const { error } = await seen.waitFor("disconnected");
        assert.match(error!.message, /Heartbeat timeout/);
        proxy.resume();
      });
    } finally {
      await proxy.close();
    }
  },
);

it("close() ends in its time while the broker does not answer", async (lab) => {
  const proxy = await startProxy(broker().port);
  const url = new URL(lab.url);
  url.port = `${proxy.port}`;
  try {
    const { bq } = lab.app({ shutdownTimeoutMs: 2_000 }, lab.transport({ url: url.href }));
    bq.handle(U, () => {});
    const run = bq.run();
    run.catch(() => {});
    await bq.publish(U, {});
    proxy.stall();
    const startedMs = performance.now();
    await bq.close();
    await run;
    assert.ok(performance.now() - startedMs < 30_000);
  } finally {
    await proxy.close();
  }
});

it("wrong credentials, an unknown virtual host and missing permissions are fatal", async (lab) => {
  const at = (change: (url: URL) => void): string => {
    const url = new URL(lab.url);
    change(url);
    return url.href;
  };
  const fatal = (pattern: RegExp) => (error: unknown): boolean => {
    assert.ok(error instanceof ConnectionError, `${error}`);
    assert.equal(error.fatal, true);
    assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  };
  const refused = lab.app({}, lab.transport({ url: at((url) => url.password = "secret") }));
  await assert.rejects(refused.bq.connect(), fatal(/ACCESS.REFUSED/));
  const nowhere = lab.app({}, lab.transport({ url: at((url) => url.pathname = "/nowhere") }));
  await assert.rejects(nowhere.bq.connect(), fatal(/did not open the virtual host/));
  const ctl = broker().ctl;
  await ctl("add_user", "limited", "secret");
  await ctl("set_permissions", "limited", "^$", "^$", "^$");
  const limited = at((url) => [url.username, url.password] = ["limited", "secret"]);
  const { bq } = lab.app({}, lab.transport({ url: limited }));
  bq.handle(U, () => {});
  await assert.rejects(bq.run(), fatal(/ACCESS.REFUSED/));
  await ctl("delete_user", "limited");
});

it("a broker that is not there yet is waited for", async (lab) => {
  const proxy = await startProxy(broker().port);
  const url = new URL(lab.url);
  url.port = `${proxy.port}`;
  proxy.refuse();
  const { bq, seen } = lab.app({}, lab.transport({ url: url.href }));
  const connected = bq.connect();
  await seen.waitFor("disconnected");
  proxy.resume();
  await connected;
  await bq.close();
  await proxy.close();
});

it("a ready connection serves, stays open, and its loss is fatal", async (lab) => {
  const connection = await amqp.connect(lab.url, { noDelay: true });
  connection.on("error", () => {});
  const worker = working(lab, lab.transport({ connection }));
  worker.bq.handle(U, ({ n }) => void worker.handled.push(Number(n)));
  await worker.bq.publish(U, { n: 0 });
  await worker.bq.consume({ maxMessages: 1 });
  assert.deepEqual(worker.handled, [0]);
  await worker.bq.close();
  await (await connection.createChannel()).close();
  const second = working(lab, lab.transport({ connection }));
  second.bq.handle(U, () => {});
  const run = second.start();
  await second.seen.waitFor("started");
  await eventually(() => second.bq.health().queues[0]?.state === "working");
  await connection.close();
  await assert.rejects(run, /connection that was given.*'recovery: true' comes back/);
  const third = working(lab, lab.transport({ connection }));
  await assert.rejects(third.bq.connect(), /connection that was given/);
});

it("a ready connection that comes back by itself is used again", async (lab) => {
  const proxy = await startProxy(broker().port);
  const url = new URL(lab.url);
  url.port = `${proxy.port}`;
  const recovery = { initialDelay: 50, maxDelay: 200 };
  const connection = await amqp.connect(url.href, { noDelay: true, recovery });
  connection.on("error", () => {});
  try {
    await goesOn(lab, { connection }, async ({ seen }) => {
      proxy.cut();
      await seen.waitFor("disconnected");
    });
  } finally {
    await connection.close();
    await proxy.close();
  }
});

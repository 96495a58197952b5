/** Publishing: confirmations, refusals, the window of what is unconfirmed, and what is uncertain. */

import assert from "node:assert/strict";
import { type BabelQueueError, PublishUncertainError } from "@bq/core";
import {
  absentRabbitmq,
  brokerOfFile,
  type Proxy,
  startProxy,
  startRabbitmq,
} from "../brokers/mod.ts";
import { B0, b0, TP, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { bodyOf, headersOf, inLab, type Lab } from "./lab.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore });

const body: Uint8Array = new TextEncoder().encode(B0);

/** The URL of the broker behind a proxy. */
function through({ url }: Lab, proxy: Proxy): string {
  const address = new URL(url);
  address.port = `${proxy.port}`;
  return address.href;
}

async function behindProxy(work: (proxy: Proxy) => Promise<void>): Promise<void> {
  const proxy = await startProxy(broker().port);
  try {
    await work(proxy);
  } finally {
    await proxy.close();
  }
}

it("a publish that no queue takes fails and says so, where nothing is declared", async (lab) => {
  const { bq } = lab.app({}, lab.transport({ declare: false }));
  await assert.rejects(bq.publish(U, {}), (error: BabelQueueError) => {
    assert.equal(error.code, "publish_failed");
    assert.match(error.message, /no queue took it \(312 NO_ROUTE\)/);
    return true;
  });
  await lab.admin.declare(lab.queue);
  await bq.publish(U, {});
  assert.equal(await lab.admin.count(lab.queue), 1);
});

it("of many publishes exactly those that no queue takes fail", async (lab) => {
  const { transport } = await lab.open({ declare: false });
  const there = lab.admin.queue();
  await lab.admin.declare(there);
  const results = await Promise.all(
    Array.from(
      { length: 60 },
      (_, n) => transport.publish(n % 3 === 0 ? "nowhere" : there, [{ body }]),
    ),
  );
  results.forEach(([outcome], n) => {
    assert.equal(outcome!.status, n % 3 === 0 ? "failed" : "confirmed", `publish ${n}`);
  });
  assert.equal(await lab.admin.count(there), 40);
});

it("a queue that was deleted is declared again by the next publish", async (lab) => {
  const { bq } = lab.app();
  await bq.publish(U, {});
  await lab.admin.delete(lab.queue);
  await bq.publish(U, {});
  assert.equal(await lab.admin.count(lab.queue), 1);
});

it("a publish that the broker refuses fails, and the next one is judged for itself", async (lab) => {
  await lab.admin.declare(lab.queue, { "x-max-length": 1, "x-overflow": "reject-publish" });
  const { bq } = lab.app();
  await bq.publish(U, {});
  await assert.rejects(bq.publish(U, {}), { code: "publish_failed", message: /refused/ });
  await lab.admin.take(lab.queue);
  await bq.publish(U, {});
});

it("behind a message that was not confirmed nothing of the same call is sent", async (lab) => {
  await lab.admin.declare(lab.queue, { "x-max-length": 2, "x-overflow": "reject-publish" });
  const { transport } = await lab.open({ maxUnconfirmed: 1 });
  const outcomes = await transport.publish(lab.queue, Array.from({ length: 5 }, () => ({ body })));
  assert.deepEqual(outcomes.map(({ status }) => status), [
    "confirmed",
    "confirmed",
    "failed",
    "failed",
    "failed",
  ]);
  assert.equal(await lab.admin.count(lab.queue), 2);
});

/** The canonical body, that many bytes longer. */
const grown = (by: number): Uint8Array =>
  new TextEncoder().encode(b0({ data: `"data":{"id":"${"x".repeat(by)}"}` }));
const MIB = 2 ** 20;

for (
  const [what, maxUnconfirmed, bodies, most] of [
    ["messages", 5, Array(50).fill(body), 5],
    ["bytes", 1_000, Array(9).fill(grown(3 * MIB)), 5],
    ["bytes, but for one that is larger alone", 1_000, Array(2).fill(grown(20 * MIB)), 1],
  ] as const satisfies readonly (readonly [string, number, readonly Uint8Array[], number])[]
) {
  it(`no more is unconfirmed at a time than the window holds: ${what}`, async (lab) => {
    await behindProxy(async (proxy) => {
      const { transport } = await lab.open({ url: through(lab, proxy), maxUnconfirmed });
      await transport.publish(lab.queue, [{ body }]);
      const called = new AbortController();
      proxy.stall();
      const sending = transport.publish(
        lab.queue,
        bodies.map((body) => ({ body })),
        { signal: called.signal },
      );
      await new Promise((resolve) => setTimeout(resolve, 300));
      called.abort();
      const statuses = (await sending).map(({ status }) => status);
      assert.deepEqual(statuses, bodies.map((_, n) => n < most ? "uncertain" : "failed"));
      proxy.resume();
      await eventually(async () => await lab.admin.count(lab.queue) === 1 + most);
    });
  });
}

it("a publish whose confirmation was cut off is uncertain, and there once", async (lab) => {
  await behindProxy(async (proxy) => {
    const { bq } = lab.app({}, lab.transport({ url: through(lab, proxy) }));
    await bq.publish(U, { n: 0 });
    const cut = proxy.cutAnswer({
      request: (bytes) => new TextDecoder("latin1").decode(bytes).includes(lab.queue),
    });
    await assert.rejects(bq.publish(U, { n: 1 }, { timeoutMs: 20_000 }), PublishUncertainError);
    await cut;
    await eventually(async () => await lab.admin.count(lab.queue) === 2);
    await bq.publish(U, { n: 2 });
    assert.equal(await lab.admin.count(lab.queue), 3);
  });
});

it("a publish waits for a connection that is gone, and fails when its time is over first", async (lab) => {
  await behindProxy(async (proxy) => {
    const { bq, seen } = lab.app({}, lab.transport({ url: through(lab, proxy) }));
    await bq.publish(U, {});
    proxy.refuse();
    await seen.waitFor("disconnected");
    await assert.rejects(bq.publish(U, {}, { timeoutMs: 1_000 }), { code: "publish_failed" });
    const waiting = bq.publish(U, {}, { timeoutMs: 30_000 });
    proxy.resume();
    await waiting;
    assert.equal(await lab.admin.count(lab.queue), 2);
  });
});

it("a body that the broker takes for too large fails, and says why", async (lab) => {
  const { transport } = await lab.open();
  // The default limit of the broker is 128 MiB; the frame of the header announces the length.
  const huge = new Uint8Array(134_217_729);
  const [outcome] = await transport.publish(lab.queue, [{ body: huge }]);
  assert.equal(outcome!.status, "failed");
  assert.match((outcome as { error: Error }).error.message, /larger|size/);
  const [next] = await transport.publish(lab.queue, [{ body }]);
  assert.equal(next!.status, "confirmed");
});

it("a URN too long for its property stands in the body alone", async (lab) => {
  const { transport } = await lab.open();
  const urn = `urn:babel:${"ü".repeat(130)}`;
  await transport.publish(lab.queue, [{
    body: new TextEncoder().encode(b0({ job: `"job":"${urn}"` })),
  }]);
  const message = await lab.admin.take(lab.queue);
  assert.equal(message.properties.type, undefined);
  assert.equal(message.properties.messageId !== undefined, true);
  assert.equal(JSON.parse(bodyOf(message)).job, urn);
});

it("a header that would mean something to the broker does not travel", async (lab) => {
  const other = lab.admin.queue();
  await lab.admin.declare(other);
  const { bq } = lab.app();
  const headers = { CC: other, BCC: other, "x-death": "1", "x-delay": "5", traceparent: TP };
  await bq.publish(U, {}, { headers });
  const { traceparent, ...contract } = headersOf(await lab.admin.take(lab.queue));
  assert.equal(traceparent, TP);
  assert.deepEqual(Object.keys(contract).sort(), [
    "x-attempts",
    "x-schema-version",
    "x-source-lang",
  ]);
  assert.equal(await lab.admin.count(other), 0);
});

it("headers that do not fit fail their publish, and no other", async (lab) => {
  const { transport } = await lab.open();
  const outcomes = await Promise.all([
    transport.publish(lab.queue, [{ body, headers: { large: "x".repeat(70_000) } }]),
    transport.publish(lab.queue, [{ body, headers: { ["n".repeat(300)]: "x" } }]),
    transport.publish(lab.queue, [{ body }]),
  ]);
  assert.deepEqual(outcomes.map(([outcome]) => outcome!.status), ["failed", "failed", "confirmed"]);
  const { error } = outcomes[1]![0] as { error: Error };
  assert.match(error.message, /header 'n+…' has a name of 300 bytes, and AMQP takes 255/);
});

it("a call may have more messages than a function takes arguments", async (lab) => {
  const { transport } = await lab.open();
  const messages = Array.from({ length: 200_000 }, () => ({ body: new Uint8Array() }));
  const called = new AbortController();
  const sending = transport.publish(lab.queue, messages, { signal: called.signal });
  called.abort();
  assert.equal((await sending).length, messages.length);
});

it("a raw body that is no envelope has the slots that need none", async (lab) => {
  const { bq } = lab.app();
  await bq.publishRaw(lab.queue, new TextEncoder().encode("not json"), {
    headers: { tenant: "7" },
  });
  const { properties } = await lab.admin.take(lab.queue);
  assert.deepEqual({ ...properties.headers }, { tenant: "7" });
  assert.equal(properties.appId, "babelqueue");
  assert.equal(properties.contentType, "application/json");
  assert.equal(properties.deliveryMode, 2);
  assert.equal(properties.type, undefined);
  assert.equal(properties.messageId, undefined);
});

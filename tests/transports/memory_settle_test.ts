import assert from "node:assert/strict";
import { test } from "../harness.ts";
import { bytes, QUEUE, receive, seam, text } from "./_seam.ts";

test("memory: a retry goes to the tail with its new body, its headers and its count", async () => {
  const { put, subscribe, clock } = await seam();
  const headers = { traceparent: "00-1", "bq-replay-bypass": "1" };
  await put(["first"], { headers });
  await put(["second"]);
  const subscription = await subscribe();
  const [delivery] = await receive(subscription, ["first"], 1);
  assert.deepEqual(delivery!.counting, {});
  const retry = { kind: "retry", body: bytes("again"), attempts: 1, delayMs: 0 } as const;
  assert.equal(await subscription.settle(delivery!, retry), "settled");
  const [, again] = await receive(subscription, ["second", "again"]);
  assert.deepEqual({ ...again!.headers }, headers);
  assert.deepEqual(again!.counting, { beside: 1 });

  await subscription.settle(again!, { ...retry, attempts: 2, delayMs: 500 });
  await clock.advance(499);
  await receive(subscription, []);
  await clock.advance(1);
  const [third] = await receive(subscription, ["again"]);
  assert.deepEqual(third!.counting, { beside: 2 });
});

test("memory: a release goes to the tail as it is, at once or after its delay", async () => {
  const { put, subscribe, clock } = await seam();
  await put(["a", "b"]);
  const subscription = await subscribe();
  const [a, b] = await receive(subscription, ["a", "b"]);
  await put(["c"]);
  await subscription.settle(a!, { kind: "release", delayMs: 0 });
  await subscription.settle(b!, { kind: "release", delayMs: 1_000 });
  const [, again] = await receive(subscription, ["c", "a"]);
  assert.deepEqual(again!.counting, {});
  await clock.advance(1_000);
  await receive(subscription, ["b"]);
});

test("memory: what is returned goes to the head, in the order of publishing", async () => {
  const { put, subscribe } = await seam();
  await put(["a", "b", "c", "d"]);
  const subscription = await subscribe();
  const [a, b, c] = await receive(subscription, ["a", "b", "c"], 3);
  for (const delivery of [b!, a!, c!]) {
    assert.equal(await subscription.settle(delivery, { kind: "return" }), "settled");
  }
  await receive(subscription, ["a", "b", "c", "d"]);
});

test("memory: what is returned is not counted, whatever its body", async () => {
  const bodies = ["not json", "", '{"job":"u"}', '{"job":"u","attempts":4}'];
  for (const body of bodies) {
    const { put, subscribe } = await seam();
    await put([body]);
    const subscription = await subscribe();
    const giveBack = async (counting: object): Promise<void> => {
      for (let turn = 0; turn < 3; turn++) {
        const [delivery] = await receive(subscription, [body]);
        assert.deepEqual(delivery!.counting, counting, body);
        await subscription.settle(delivery!, { kind: "return" });
      }
    };
    await giveBack({});
    const [delivery] = await receive(subscription, [body]);
    const retry = { kind: "retry", body: bytes(body), attempts: 2, delayMs: 0 } as const;
    await subscription.settle(delivery!, retry);
    await giveBack({ beside: 2 });
  }
});

test("memory: a record is written and its original gone in one step, without the replay marker", async () => {
  const { put, subscribe, transport } = await seam();
  await put(["message"], { headers: { tenant: "7", "bq-replay-bypass": "1" } });
  const subscription = await subscribe();
  const [delivery] = await receive(subscription, ["message"]);
  // Not awaited: the whole effect is there when the call returns.
  const settling = subscription.settle(delivery!, {
    kind: "deadLetter",
    record: bytes("record"),
    queue: "shop.dlq",
    reason: "failed",
  });
  assert.deepEqual(await transport.size(QUEUE), { ready: 0, delayed: 0, inFlight: 0 });
  assert.equal(await settling, "settled");
  const [record] = await Array.fromAsync(transport.peek("shop.dlq"));
  assert.equal(text(record!), "record");
  assert.deepEqual({ ...record!.headers }, { tenant: "7" });
  assert.equal(Object.getPrototypeOf(record!.headers), null);
});

test("memory: a message that is left comes again when its lease ends", async () => {
  const { put, subscribe, clock } = await seam({ leaseMs: 1_000 });
  await put(["message"]);
  const subscription = await subscribe();
  const [delivery] = await receive(subscription, ["message"]);
  assert.equal(await subscription.settle(delivery!, { kind: "leave" }), "settled");
  await receive(subscription, []);
  await clock.advance(1_000);
  await receive(subscription, ["message"]);
});

test("memory: there is no native dead-letter place, and the message stays", async () => {
  const { put, subscribe, transport } = await seam();
  await put(["message"]);
  const subscription = await subscribe();
  const [delivery] = await receive(subscription, ["message"]);
  await assert.rejects(
    subscription.settle(delivery!, { kind: "deadLetterNatively", reason: "poison" }),
    { code: "unsupported" },
  );
  assert.deepEqual(await transport.size(QUEUE), { ready: 0, delayed: 0, inFlight: 1 });
});

test("memory: an ended lease gives the message back uncounted, and its delivery is expired", async () => {
  const { put, subscribe, clock } = await seam({ leaseMs: 30_000 });
  await put(["a", "b", "c"]);
  const slow = await subscribe();
  const [a, b] = await receive(slow, ["a", "b"], 2);
  assert.equal(a!.leaseUntilMs, clock.now() + 30_000);
  await clock.advance(29_999);
  assert.equal(await slow.settle(b!, { kind: "ack" }), "settled");
  await clock.advance(1);

  const other = await subscribe();
  const [again] = await receive(other, ["a", "c"]);
  assert.deepEqual(again!.counting, {});
  assert.equal(await slow.extend!(a!), null);
  const late = [
    { kind: "ack" },
    { kind: "retry", body: bytes("x"), attempts: 1, delayMs: 0 },
    { kind: "release", delayMs: 0 },
    { kind: "return" },
    { kind: "leave" },
    { kind: "deadLetter", record: bytes("x"), queue: "shop.dlq", reason: "failed" },
    { kind: "deadLetterNatively", reason: "x" },
  ] as const;
  for (const verdict of late) assert.equal(await slow.settle(a!, verdict), "expired");
  await receive(other, []);
  assert.equal(await other.settle(again!, { kind: "ack" }), "settled");
});

test("memory: extend() holds a message past its first lease, again and again", async () => {
  const { put, subscribe, clock, transport } = await seam({ leaseMs: 1_000 });
  await put(["message"]);
  const subscription = await subscribe();
  const other = await subscribe();
  const [delivery] = await receive(subscription, ["message"]);
  for (let turn = 0; turn < 5; turn++) {
    await clock.advance(900);
    assert.equal(await subscription.extend!(delivery!), clock.now() + 1_000);
    await receive(other, []);
  }
  await clock.advance(999);
  assert.equal((await transport.size(QUEUE)).inFlight, 1);
  await clock.advance(1);
  await receive(other, ["message"]);
});

test("memory: what continues a delivery carries its headers on; verbatim it is the same again", async () => {
  const { put, subscribe, transport } = await seam();
  await put(["message"], { headers: { tenant: "7", color: "red" } });
  const subscription = await subscribe();
  const [first] = await receive(subscription, ["message"]);
  await subscription.settle(first!, {
    kind: "retry",
    body: bytes("message"),
    attempts: 2,
    delayMs: 0,
  });
  const [from] = await receive(subscription, ["message"]);
  const body = bytes("copy");
  await transport.publish("other", [
    { body, from: from!, headers: { color: "blue" } },
    { body, from: from!, headers: { color: "blue" }, verbatim: true },
    { body },
  ]);
  const copies = await transport.subscribe("other", {
    prefetch: 3,
    intake: new AbortController().signal,
    lost: () => {},
  });
  const came = await copies.receive(3, 0);
  assert.deepEqual(came.map(({ headers }) => ({ ...headers })), [
    { tenant: "7", color: "blue" },
    { tenant: "7", color: "red" },
    {},
  ]);
  assert.deepEqual(came.map(({ counting }) => counting), [{}, { beside: 2 }, {}]);
  for (const { headers } of came) assert.equal(Object.getPrototypeOf(headers), null);
});

test("memory: size() and peek() show every state without touching it", async () => {
  const { put, subscribe, transport, clock } = await seam();
  await put(["held", "returned", "waiting"], { headers: { tenant: "7" } });
  await put(["later"], { delayMs: 2_000 });
  await put(["soon"], { delayMs: 1_000 });
  const subscription = await subscribe();
  const [, returned] = await receive(subscription, ["held", "returned"], 2);
  await subscription.settle(returned!, { kind: "return" });
  const look = async (max?: number): Promise<string[]> => {
    const seen = await Array.fromAsync(transport.peek(QUEUE, max === undefined ? {} : { max }));
    return seen.map((message) => `${text(message)} ${message.state}`);
  };
  const all = [
    "returned ready",
    "waiting ready",
    "soon delayed",
    "later delayed",
    "held inFlight",
  ];
  assert.deepEqual(await look(), all);
  assert.deepEqual(await look(3), all.slice(0, 3));
  assert.deepEqual(await transport.size(QUEUE), { ready: 2, delayed: 2, inFlight: 1 });
  await clock.advance(1_000);
  assert.deepEqual(await transport.size(QUEUE), { ready: 3, delayed: 1, inFlight: 1 });
  assert.deepEqual(await transport.size("unknown"), { ready: 0, delayed: 0, inFlight: 0 });
});

import assert from "node:assert/strict";
import { memory, MemoryStore } from "@bq/core";
import { fakeClock } from "@bq/core/testing";
import { test } from "../harness.ts";
import { bytes, open, QUEUE, receive, seam, text } from "./_seam.ts";

test("memory(): options out of range are refused by name, value and bound", () => {
  assert.throws(() => memory({ leaseMs: 0 }), /Cannot set option 'leaseMs' to 0: it must be/);
  assert.throws(() => memory({ leaseMs: NaN }), { code: "invalid_option" });
  assert.throws(() => memory({ store: {} as MemoryStore }), /option 'store'.*a MemoryStore/);
  assert.throws(() => memory({ lease: 1 } as object), /Cannot set option 'lease'/);
});

test("memory: what the caller does to its bytes afterwards reaches nobody", async () => {
  const { transport, subscribe } = await seam();
  const body = bytes("message");
  await transport.publish(QUEUE, [{ body }]);
  body.fill(0);
  const [peeked] = await Array.fromAsync(transport.peek(QUEUE));
  peeked!.body.fill(0);
  await receive(await subscribe(), ["message"]);
});

test("memory: two transports over one store are producers and workers of the same queues", async () => {
  const store = new MemoryStore();
  const clock = fakeClock();
  const producer = await open(memory({ store }), clock);
  const first = await seam({ store }, clock);
  const second = await seam({ store }, clock);
  const waiting = (await first.subscribe()).receive(1, 600_000);
  await producer.publish(QUEUE, [{ body: bytes("a") }, { body: bytes("b") }]);
  assert.deepEqual((await waiting).map(text), ["a"]);
  await receive(await second.subscribe(), ["b"]);
  await first.transport.close();
  assert.deepEqual(await producer.size(QUEUE), { ready: 1, delayed: 0, inFlight: 1 });
});

test("memory: what a closed worker held is there for the next one, in its place", async () => {
  const { put, subscribe } = await seam();
  await put(["a", "b", "c"]);
  const first = await subscribe();
  const [, b] = await receive(first, ["a", "b"], 2);
  await first.settle(b!, { kind: "ack" });
  await first.close();
  await assert.rejects(first.settle(b!, { kind: "ack" }), { code: "closed" });
  await assert.rejects(first.receive(1, 0), { code: "closed" });
  await receive(await subscribe(), ["a", "c"]);
});

test("memory: a transport that is not open, or closed, refuses work by name", async () => {
  const clock = fakeClock();
  const transport = memory();
  await assert.rejects(
    transport.publish(QUEUE, [{ body: bytes("a") }]),
    /Cannot publish to 'shop': the memory transport is not open yet/,
  );
  await open(transport, clock);
  await assert.rejects(open(transport, clock), /it is open already/);
  await transport.close();
  await assert.rejects(transport.size(QUEUE), /Cannot count 'shop'.*is closed/);
  await assert.rejects(open(transport, clock), { code: "closed" });
});

test("memory: a publish whose signal is aborted rejects and stores nothing", async () => {
  const { transport } = await seam();
  const signal = AbortSignal.abort(new Error("called off"));
  await assert.rejects(
    transport.publish(QUEUE, [{ body: bytes("a") }], { signal }),
    /called off/,
  );
  assert.equal((await transport.size(QUEUE)).ready, 0);
});

test("memory: a queue that is empty and that nobody works on is forgotten", async () => {
  const store = new MemoryStore();
  const { transport, put, subscribe } = await seam({ store });
  assert.deepEqual(await transport.size(QUEUE), { ready: 0, delayed: 0, inFlight: 0 });
  assert.deepEqual(await Array.fromAsync(transport.peek(QUEUE)), []);
  assert.equal(store.find(QUEUE), undefined);
  await put(["a", "b"]);
  const [first, second] = [await subscribe(), await subscribe()];
  const [a] = await receive(first, ["a"], 1);
  const [b] = await receive(second, ["b"], 1);
  await first.settle(a!, { kind: "ack" });
  await second.settle(b!, { kind: "return" });
  await first.close();
  await first.close();
  assert.notEqual(store.find(QUEUE), undefined);
  await second.close();
  // What was given back keeps it.
  assert.equal((await transport.size(QUEUE)).ready, 1);
  const third = await subscribe();
  const [again] = await receive(third, ["b"], 1);
  await third.settle(again!, { kind: "ack" });
  assert.notEqual(store.find(QUEUE), undefined);
  await third.close();
  assert.equal(store.find(QUEUE), undefined);
});

test("memory: a queue with a delayed message, or with a receive that waits, is kept", async () => {
  const store = new MemoryStore();
  const { put, subscribe, clock } = await seam({ store });
  const waiting = await subscribe();
  const receiving = waiting.receive(1, 60_000);
  await (await subscribe()).close();
  await put(["later"], { delayMs: 1_000 });
  await (await subscribe()).close();
  await clock.advance(1_000);
  assert.deepEqual((await receiving).map(text), ["later"]);
});

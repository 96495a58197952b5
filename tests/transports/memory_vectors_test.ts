import assert from "node:assert/strict";
import { BabelQueue, memory, MemoryStore, NonRetriableError } from "@bq/core";
import { fakeClock, inject, recorder } from "@bq/core/testing";
import { test } from "../harness.ts";
import { type Faults, faulty } from "./_faulty.ts";
import { bytes, text } from "./_seam.ts";

const U = "urn:babel:shop:paid";
const B0 = `{"job":"${U}","trace_id":"11111111-2222-4333-8444-555555555555",` +
  '"data":{"id":7,"tags":[]},"meta":{"id":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",' +
  '"queue":"shop","lang":"go","schema_version":1,"created_at":1760000000123},"attempts":0}';

function attempts(count: number): string {
  return B0.replace('"attempts":0', `"attempts":${count}`);
}

test("V902: a failed message is at the tail with attempts + 1, and at the cap on shop.dlq", async () => {
  const transport = memory();
  const clock = fakeClock(1_760_000_005_000);
  const bq = new BabelQueue(transport, {
    queue: "shop",
    deadLetter: true,
    clock,
    onEvent: recorder(),
  });
  bq.handle(U, (data) => {
    if (data.id === 7) throw new RangeError("no stock");
  });
  await inject(bq, "shop", B0);
  const other = B0.replace('"id":7', '"id":8');
  await inject(bq, "shop", other);

  await bq.consume({ maxMessages: 1 });
  const waiting = await Array.fromAsync(transport.peek("shop"));
  assert.deepEqual(waiting.map(text), [other, attempts(1)]);

  await bq.consume({ waitMs: 0 });
  assert.deepEqual(await transport.size("shop"), { ready: 0, delayed: 0, inFlight: 0 });
  const [record] = await Array.fromAsync(transport.peek("shop.dlq"));
  assert.equal(
    text(record!),
    attempts(3).slice(0, -1) +
      ',"dead_letter":{"reason":"failed","error":"no stock","exception":"RangeError",' +
      '"failed_at":1760000005000,"original_queue":"shop","attempts":3,"lang":"node"}}',
  );
  await bq.close();
});

test("V903: poison without dead-lettering is delivered to the cap, counted beside its body, then dropped", async () => {
  const transport = memory();
  const seen = recorder();
  const bq = new BabelQueue(transport, { queue: "shop", deadLetter: false, onEvent: seen });
  bq.handle(U, () => assert.fail("poison reached a handler"));
  const body = bytes('{"job":"urn:babel:shop:paid","attempts":1.0}');
  await inject(bq, "shop", body);

  await bq.consume({ maxMessages: 1 });
  const [waiting] = await Array.fromAsync(transport.peek("shop"));
  assert.deepEqual(waiting!.body, body);

  const counts = await bq.consume({ waitMs: 0 });
  assert.deepEqual(seen.of("poison").map(({ attempt }) => attempt), [1, 2, 3]);
  assert.equal(counts.dropped, 1);
  assert.equal(seen.of("dropped")[0]!.reason, "poison");
  assert.deepEqual(await transport.size("shop"), { ready: 0, delayed: 0, inFlight: 0 });
  assert.deepEqual(await transport.size("shop.dlq"), { ready: 0, delayed: 0, inFlight: 0 });
  await bq.close();
});

test("V904: when the record cannot be written the message is back on shop, and that is reported", async () => {
  const store = new MemoryStore();
  const faults: Faults = { writesFail: true, aheadMs: 0 };
  const seen = recorder();
  const bq = new BabelQueue(faulty(memory({ store }), faults), {
    queue: "shop",
    deadLetter: true,
    onEvent: seen,
  });
  let calls = 0;
  bq.handle(U, () => {
    calls++;
    throw new NonRetriableError("no stock");
  });
  await inject(bq, "shop", B0);
  await bq.consume({ maxMessages: 1 });
  assert.equal(calls, 1);
  assert.equal(seen.of("writeFailed").length, 1);
  assert.deepEqual(seen.of("returned").map(({ cause }) => cause), ["write_failed"]);
  const [waiting] = await Array.fromAsync(bq.transport.peek!("shop"));
  assert.equal(text(waiting!), B0);

  faults.writesFail = false;
  assert.equal((await bq.consume({ waitMs: 0 })).deadLettered, 1);
  await bq.close();
});

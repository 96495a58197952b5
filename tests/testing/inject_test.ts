import assert from "node:assert/strict";
import { BabelQueue, memory, systemClock } from "@bq/core";
import { inject } from "@bq/core/testing";
import { test } from "../harness.ts";

test("inject() puts bytes and texts on a queue as they are, through an App and through a transport", async () => {
  const transport = memory();
  const bq = new BabelQueue(transport);
  const bytes = Uint8Array.of(0xff, 0x00, 0x7b);
  await inject(bq, "shop", bytes, { headers: { tenant: "7", empty: "" } });
  await inject(transport, "shop", "größe", { delayMs: 60_000 });
  const [first, second] = await Array.fromAsync(transport.peek("shop"));
  assert.deepEqual(first!.body, bytes);
  assert.deepEqual({ ...first!.headers }, { tenant: "7" });
  assert.equal(first!.state, "ready");
  assert.equal(new TextDecoder().decode(second!.body), "größe");
  assert.equal(second!.state, "delayed");
  await bq.close();
});

test("inject() throws what the transport refuses", async () => {
  const transport = memory();
  await assert.rejects(inject(transport, "shop", "body"), { code: "closed" });
  await transport.open({
    clock: systemClock,
    random: () => 0,
    bytes: (length) => new Uint8Array(length),
    emit: () => {},
  });
  const refusal = new Error("the broker is full");
  transport.publish = () => Promise.resolve([{ status: "failed", error: refusal }]);
  await assert.rejects(inject(transport, "shop", "body"), refusal);
  transport.publish = () => Promise.resolve([]);
  await assert.rejects(inject(transport, "shop", "body"), /no outcome/);
});

test("inject() leaves the headers that it is given to their owner", async () => {
  const transport = memory();
  const bq = new BabelQueue(transport);
  await bq.connect();
  const headers: Record<string, string> = { tenant: "7" };
  await inject(transport, "shop", "{}", { headers });
  headers["tenant"] = "8";
  headers["more"] = "9";
  const [seen] = await Array.fromAsync(transport.peek("shop"));
  assert.deepEqual({ ...seen!.headers }, { tenant: "7" });
  await bq.close();
});

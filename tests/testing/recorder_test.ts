import assert from "node:assert/strict";
import type { BabelQueueEvent } from "@bq/core";
import { recorder } from "@bq/core/testing";
import { test } from "../harness.ts";

const connected: BabelQueueEvent = { level: "info", type: "connected" };
const disconnected: BabelQueueEvent = { level: "warn", type: "disconnected" };

test("recorder() keeps events in their order and gives those of one type", () => {
  const seen = recorder();
  seen(connected);
  seen(disconnected);
  seen(connected);
  assert.deepEqual(seen.events, [connected, disconnected, connected]);
  assert.deepEqual(seen.of("disconnected"), [disconnected]);
  assert.deepEqual(seen.of("handled"), []);
});

test("recorder().waitFor() gives an event that came before, or the first one that comes", async () => {
  const seen = recorder();
  const first = seen.waitFor("connected");
  const other = seen.waitFor((event) => event.level === "warn");
  seen(connected);
  assert.equal(await first, connected);
  seen(disconnected);
  assert.equal(await other, disconnected);
  assert.equal(await seen.waitFor("connected", { timeoutMs: 0 }), connected);
});

test("recorder().waitFor() gives up with the names of what came instead", async () => {
  const seen = recorder();
  seen(connected);
  await assert.rejects(
    seen.waitFor("handled", { timeoutMs: 1 }),
    /Cannot see an event 'handled' within 1 ms; of 1 events the last ones:\s+BabelQueue connected/,
  );
});

test("recorder().waitFor() passes on what its predicate throws, and the others wait on", async () => {
  const seen = recorder();
  const wrong = new TypeError("no error in this event");
  const broken = seen.waitFor(() => {
    throw wrong;
  });
  const other = seen.waitFor("connected");
  seen(connected);
  assert.equal(await other, connected);
  await assert.rejects(broken, (error) => error === wrong);
  assert.deepEqual(seen.events, [connected]);
});

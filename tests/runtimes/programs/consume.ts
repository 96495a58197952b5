/** Publishes, handles with `consume`, retries, dead-letters, closes, and has to exit by itself. */

import assert from "node:assert/strict";
import { BabelQueue, memory, NonRetriableError } from "@bq/core";

const bq = new BabelQueue(memory(), {
  queue: "orders",
  maxAttempts: 2,
  deadLetter: true,
  onEvent() {},
});
const attempts: number[] = [];
bq.handle("urn:babel:orders:created", (_order, context) => {
  attempts.push(context.attempt);
  if (context.attempt === 1) throw new Error("not yet");
});
bq.handle("urn:babel:orders:refused", () => {
  throw new NonRetriableError("never");
});

await bq.publish("urn:babel:orders:created", { order_id: 1042 });
await bq.publish("urn:babel:orders:refused", { order_id: 1043 });
const { handled, retried, deadLettered } = await bq.consume({ waitMs: 0 });
await bq.close();

assert.deepEqual(attempts, [1, 2]);
assert.deepEqual({ handled, retried, deadLettered }, { handled: 1, retried: 1, deadLettered: 1 });
console.log("done");

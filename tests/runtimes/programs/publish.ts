/** Only publishes and closes, and has to exit by itself. */

import assert from "node:assert/strict";
import { BabelQueue, memory } from "@bq/core";

const bq = new BabelQueue(memory(), { queue: "orders" });
assert.match(await bq.publish("urn:babel:orders:created", { order_id: 1042 }), /^[0-9a-f-]{36}$/);
await bq.close();
console.log("done");

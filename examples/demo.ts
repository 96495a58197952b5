// Messages published, handled, retried, dead-lettered and looked at, on the memory transport.
// Run it with: deno task demo

import { BabelQueue, memory } from "@bq/core";

const bq = new BabelQueue(memory(), {
  queue: "orders",
  maxAttempts: 3,
  deadLetter: true,
  onEvent(event) {
    if (event.type === "retried") {
      console.log(`  retried: attempt ${event.attempt} of ${event.urn} failed`);
    }
    if (event.type === "deadLettered") {
      console.log(`  dead-lettered to '${event.deadLetterQueue}': ${event.urn} (${event.reason})`);
    }
  },
});

bq.handle("urn:babel:orders:created", (order, ctx) => {
  console.log(`  handled: order ${order.order_id}, attempt ${ctx.attempt}`);
});

bq.handle("urn:babel:orders:paid", (order, ctx) => {
  if (ctx.attempt < 2) throw new Error("the ledger is busy");
  console.log(`  handled: payment of order ${order.order_id}, attempt ${ctx.attempt}`);
});

bq.handle("urn:babel:orders:shipped", () => {
  throw new Error("no such carrier");
});

console.log("Publishing three messages");
await bq.publish("urn:babel:orders:created", { order_id: 1042 });
await bq.publish("urn:babel:orders:paid", { order_id: 1042 });
await bq.publish("urn:babel:orders:shipped", { order_id: 1042, carrier: "owl" });

console.log("Working on 'orders'");
console.log("  counts:", await bq.consume({ waitMs: 0 }));

console.log("Looking at 'orders.dlq'");
for await (const { body } of bq.peek("orders.dlq")) {
  console.log(JSON.stringify(JSON.parse(new TextDecoder().decode(body)), null, 2));
}

await bq.close();

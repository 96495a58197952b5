// A message with a schema: publish is checked, and the handler's data is typed.
// Run it with: deno run examples/typed_message.ts

import { BabelQueue, defineMessage, InvalidPayloadError, memory } from "@bq/core";
import { z } from "zod";

const OrderCreated = defineMessage(
  "urn:babel:orders:created",
  z.object({ order_id: z.number().int(), currency: z.enum(["EUR", "USD"]).default("EUR") }),
);

const bq = new BabelQueue(memory(), { queue: "orders", deadLetter: true });

bq.handle(OrderCreated, (order) => {
  console.log(`order ${order.order_id} in ${order.currency}`); // both typed, the default filled in
});

await bq.publish(OrderCreated, { order_id: 1042 });
await bq.consume({ waitMs: 0 });

try {
  await bq.publish(OrderCreated, { order_id: 10.42 });
} catch (error) {
  if (!(error instanceof InvalidPayloadError)) throw error;
  console.log(`refused: ${error.message}`);
}

await bq.close();

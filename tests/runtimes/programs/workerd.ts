/** A module worker for `workerd test`: the core publishes, handles and dead-letters at the edge. */

import { BabelQueue, memory, NonRetriableError } from "@bq/core";

export default {
  async test(): Promise<void> {
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
    const seen = JSON.stringify({ attempts, handled, retried, deadLettered });
    const expected = `{"attempts":[1,2],"handled":1,"retried":1,"deadLettered":1}`;
    if (seen !== expected) throw new Error(`${seen} instead of ${expected}`);
    for (const name of ["Deno", "Bun", "process", "Buffer"]) {
      if (name in globalThis) throw new Error(`${name} exists, so this proves nothing`);
    }
  },
};

/** Every row of the contract's decision table for Artemis, on a real broker. */

import assert from "node:assert/strict";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { U } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { sent, testDecisionTable } from "./_decision_table.ts";
import { inLab, nativeText } from "./lab.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

testDecisionTable((name, fn) => test(name, fn, { ignore }), {
  name: "artemis",
  url: () => broker().url,
  keepsCount: true,
  async count(transport, queue) {
    const { ready, delayed, inFlight } = await transport.size(queue);
    return ready + delayed + inFlight;
  },
});

test("artemis, decision table: a record that cannot be written releases the message", async () => {
  for (const message of ["fails", "poison", "gated"] as const) {
    await inLab(broker().url, async (lab) => {
      const { body, ...rest } = sent(message);
      await lab.peer.send(lab.queue, { body, ...rest });
      await lab.forbidDead();
      const { bq, seen } = lab.app({ deadLetter: true, maxAttempts: 1 });
      bq.handle(U, () => {
        throw new Error("fails");
      });
      await bq.consume({ maxMessages: 1, waitMs: 10_000 });
      await bq.close();
      assert.equal(seen.of("writeFailed").length, 1, message);
      const [native = {}] = await lab.peer.receive(lab.queue);
      assert.deepEqual([nativeText(native), native.delivery_count ?? 0], [body, 0], message);
    });
  }
}, { ignore });

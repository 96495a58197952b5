/** A broker that is short of memory: what waits, what goes on, and what is there when it is over. */

import assert from "node:assert/strict";
import type { BabelQueue, BabelQueueOptions } from "@bq/core";
import type { Recorder } from "@bq/core/testing";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { headersOf, inLab, type Lab } from "./lab.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq({ own: true }));
const it = (name: string, work: (lab: Lab) => Promise<void>): void =>
  test(name, () => inLab(broker(), work), { ignore, timeoutMs: 120_000 });

/** Long enough for a copy that is not held back to show, in milliseconds. */
const QUIET_MS = 500;

const SHORT_OF = "{resource_limit, memory, node()}";

function alarm(on: boolean): Promise<string> {
  return broker().ctl(
    "eval",
    on ? `rabbit_alarm:set_alarm({${SHORT_OF}, []}).` : `rabbit_alarm:clear_alarm(${SHORT_OF}).`,
  );
}

/** Works while the broker takes no publishes; the one that made it say so is there once, afterwards. */
async function duringAlarm(
  { admin }: Lab,
  { bq, seen }: { readonly bq: BabelQueue; readonly seen: Recorder },
  work: () => Promise<void>,
): Promise<void> {
  const queue = admin.queue();
  await alarm(true);
  try {
    // The broker tells a connection when it publishes.
    const first = bq.publish(U, {}, { queue, timeoutMs: 60_000 });
    await seen.waitFor((event) =>
      event.type === "warning" && /takes no publishes/.test(event.message)
    );
    await work();
    await alarm(false);
    await first;
  } finally {
    await alarm(false);
  }
  assert.equal(await admin.count(queue), 1);
}

it("while the broker is short of memory nothing is published, and what comes in is worked off", async (lab) => {
  const { bq, seen } = lab.app();
  const handled: number[] = [];
  bq.handle(U, ({ n }) => void handled.push(Number(n)));
  await bq.publish(U, { n: 0 });
  await duringAlarm(lab, { bq, seen }, async () => {
    await assert.rejects(bq.publish(U, { n: 1 }, { timeoutMs: 500 }), {
      code: "publish_failed",
      message: /no confirmation|takes none now/,
    });
    // Acknowledged as well, on a connection that does not publish: nothing came back.
    await bq.consume({ maxMessages: 1 });
    assert.deepEqual(handled, [0]);
    assert.equal(await lab.admin.count(lab.queue), 0);
  });
});

for (
  const [what, options, event, suffix] of [
    ["the copy of a message that failed", { maxAttempts: 2 }, "retried", ""],
    ["a dead-letter record", { maxAttempts: 1, deadLetter: true }, "deadLettered", ".dlq"],
  ] as const satisfies readonly (readonly [string, BabelQueueOptions, string, string])[]
) {
  it(`while the broker is short of memory ${what} waits, and is there once when it is not`, async (lab) => {
    const { bq, seen } = lab.app(options);
    bq.handle(U, () => {
      throw new Error("boom");
    });
    const target = `${lab.queue}${suffix}`;
    await lab.admin.declare(target);
    await bq.publish(U, {});
    let working: Promise<unknown> | undefined;
    await duringAlarm(lab, { bq, seen }, async () => {
      working = bq.consume({ maxMessages: 1 });
      await seen.waitFor("failed");
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      assert.equal(await lab.admin.count(target), 0);
      assert.deepEqual([seen.of(event).length, seen.of("writeFailed").length], [0, 0]);
    });
    await working;
    await eventually(async () => await lab.admin.count(target) === 1);
    assert.deepEqual([seen.of(event).length, seen.of("writeFailed").length], [1, 0]);
    await bq.close();
    assert.equal(headersOf(await lab.admin.take(target))["x-attempts"], 1);
    assert.deepEqual([await lab.admin.count(target), await lab.admin.count(lab.queue)], [0, 0]);
  });
}

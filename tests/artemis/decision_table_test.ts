/** Every row of the contract's decision table for Artemis, on a real broker. */

import assert from "node:assert/strict";
import type { BabelQueueOptions } from "@bq/core";
import { absentArtemis, brokerOfFile, startArtemis } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { inLab, nativeText } from "./lab.ts";

const ignore = await absentArtemis();
const broker = brokerOfFile(ignore, () => startArtemis());

type Message = "ok" | "fails" | "unknown" | "poison" | "gated";

/** How the worker is set up: dead-lettering, and what becomes of an unknown URN. */
const SETUPS = {
  "on": { deadLetter: true },
  "off": { deadLetter: false },
  "delete, on": { deadLetter: true, onUnknownUrn: "delete" },
  "delete, off": { onUnknownUrn: "delete" },
  "release, on": { deadLetter: true, onUnknownUrn: "release" },
  "release, off": { onUnknownUrn: "release" },
  "dead_letter, off": { onUnknownUrn: "dead_letter" },
  "dead_letter, opted out": { onUnknownUrn: "dead_letter", deadLetterQueue: null },
} as const satisfies { readonly [setup: string]: BabelQueueOptions };

type Setup = keyof typeof SETUPS;

/**
 * What is left: nothing; the message back on its queue with that many deliveries counted; or a record
 * of a reason with that many attempts, `gated` being the raw body.
 */
type Left = "gone" | `back ${number}` | `${"failed" | "unknown_urn" | "poison"} ${number}` | "raw";

/** One message, delivered so often before, under some setups. */
type Row = readonly [Message, earlier: number, left: { readonly [S in Setup]?: Left }];

const everywhere = (left: Left): { readonly [S in Setup]: Left } => ({
  "on": left,
  "off": left,
  "delete, on": left,
  "delete, off": left,
  "release, on": left,
  "release, off": left,
  "dead_letter, off": left,
  "dead_letter, opted out": left,
});

const ROWS: readonly Row[] = [
  ["ok", 0, everywhere("gone")],
  ["fails", 0, everywhere("back 1")],
  ["fails", 1, everywhere("back 2")],
  ["fails", 2, {
    ...everywhere("failed 3"),
    "off": "gone",
    "delete, off": "gone",
    "release, off": "gone",
    "dead_letter, opted out": "gone",
  }],
  ["unknown", 0, {
    "on": "back 1",
    "off": "back 1",
    "delete, on": "gone",
    "delete, off": "gone",
    "release, on": "back 1",
    "release, off": "back 1",
    "dead_letter, off": "unknown_urn 0",
    "dead_letter, opted out": "gone",
  }],
  ["unknown", 2, {
    "on": "unknown_urn 3",
    "off": "gone",
    "delete, on": "gone",
    "release, on": "back 3",
    "release, off": "back 3",
    "dead_letter, off": "unknown_urn 2",
    "dead_letter, opted out": "gone",
  }],
  ["poison", 0, {
    ...everywhere("gone"),
    "on": "poison 0",
    "release, on": "poison 0",
    "dead_letter, off": "poison 0",
  }],
  ["poison", 2, { "on": "poison 2", "off": "gone", "delete, on": "gone" }],
  ["gated", 0, {
    ...everywhere("gone"),
    "on": "raw",
    "release, on": "raw",
    "dead_letter, off": "raw",
  }],
  ["gated", 2, { "on": "raw", "off": "gone", "delete, on": "gone" }],
];

const UNKNOWN = B0.replace(U, "urn:babel:unknown");

/** What a client sends for a message of the table. */
function sent(
  message: Message,
): { body: string; application_properties?: { [n: string]: string } } {
  switch (message) {
    case "unknown":
      return { body: UNKNOWN };
    case "poison":
      return { body: "not json" };
    case "gated":
      return { body: "not json", application_properties: { bq_schema_version: "2" } };
    default:
      return { body: B0 };
  }
}

async function outcome(
  message: Message,
  earlier: number,
  setup: Setup,
  expected: Left,
): Promise<Left> {
  let left: Left = "gone";
  await inLab(broker().url, async (lab) => {
    const { body, ...rest } = sent(message);
    await lab.peer.send(lab.queue, { body, ...rest });
    for (let times = 0; times < earlier; times++) await lab.peer.receive(lab.queue, 1, "fail");
    const { bq } = lab.app({ maxAttempts: 3, ...SETUPS[setup] });
    bq.handle(U, () => {
      if (message === "fails") throw new Error("fails");
    });
    await bq.consume({ maxMessages: 1, waitMs: 10_000 });
    await bq.close();
    const transport = await lab.transport();
    const back = expected.startsWith("back") ? 1 : 0;
    const dead = expected === "gone" ? 0 : 1 - back;
    // The broker counts a moment after it was told.
    await eventually(async () => {
      const sizes = [await transport.size(lab.queue), await transport.size(lab.dead)];
      const counts = sizes.map(({ ready, delayed, inFlight }) => ready + delayed + inFlight);
      assert.deepEqual(counts, [back, dead], `on the queue, and records; ${setup}`);
    });
    if (back === 1) {
      const [native = {}] = await lab.peer.receive(lab.queue);
      assert.equal(nativeText(native), body, "the body is as it was");
      left = `back ${native.delivery_count ?? 0}`;
    } else if (dead === 1) {
      const [native = {}] = await lab.peer.receive(lab.dead);
      const record = nativeText(native);
      if (record === body) return void (left = "raw");
      const { reason, attempts } = JSON.parse(record).dead_letter;
      left = `${reason as "failed"} ${attempts as number}`;
    }
  });
  return left;
}

for (const [message, earlier, expected] of ROWS) {
  const before = earlier === 0 ? "" : ` after ${earlier} deliveries`;
  test(`artemis, decision table: ${message}${before}`, async () => {
    const found = Object.fromEntries(
      await Promise.all(
        (Object.keys(expected) as Setup[])
          .map(async (setup) => [setup, await outcome(message, earlier, setup, expected[setup]!)]),
      ),
    );
    assert.deepEqual(found, expected);
  }, { ignore });
}

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

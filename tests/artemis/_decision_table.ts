/** The rows of the contract's decision table for Artemis, and what plays one on a real broker. */

import assert from "node:assert/strict";
import type { ArtemisTransport } from "@bq/artemis";
import type { BabelQueueOptions } from "@bq/core";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, type test } from "../harness.ts";
import { inLab, nativeText } from "./lab.ts";

/** A message of the table. */
export type Message = "ok" | "fails" | "unknown" | "poison" | "gated";

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
export function sent(
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

/** How a broker differs from Artemis, as far as the table shows it. */
export interface TableBroker {
  /** The broker, for the names of the tests. */
  readonly name: string;
  /** Where it listens. */
  url(): string;
  /** Whether its count of deliveries outlives the link that they failed on. */
  readonly keepsCount: boolean;
  /** Counts all that is on a queue. */
  count(transport: ArtemisTransport, queue: string): Promise<number>;
}

/** Registers a test for each row. */
export function testDecisionTable(register: typeof test, broker: TableBroker): void {
  const rows = ROWS.filter(([, earlier]) => broker.keepsCount || earlier === 0);
  for (const [message, earlier, expected] of rows) {
    const before = earlier === 0 ? "" : ` after ${earlier} deliveries`;
    register(`${broker.name}, decision table: ${message}${before}`, async () => {
      const setups = Object.keys(expected) as Setup[];
      const wanted = setups.map((setup) => [setup, seenOn(broker, expected[setup]!)] as const);
      const found = await Promise.all(
        wanted.map(async (
          [setup, left],
        ) => [setup, await outcome(broker, message, earlier, setup, left)]),
      );
      assert.deepEqual(Object.fromEntries(found), Object.fromEntries(wanted));
    });
  }
}

/** What another client sees of it. */
function seenOn({ keepsCount }: TableBroker, left: Left): Left {
  return keepsCount || !left.startsWith("back") ? left : "back 0";
}

async function outcome(
  broker: TableBroker,
  message: Message,
  earlier: number,
  setup: Setup,
  expected: Left,
): Promise<Left> {
  let left: Left = "gone";
  await inLab(broker.url(), async (lab) => {
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
      const counts = [
        await broker.count(transport, lab.queue),
        await broker.count(transport, lab.dead),
      ];
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

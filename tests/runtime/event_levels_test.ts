import assert from "node:assert/strict";
import {
  type BabelQueueOptions,
  type Delivery,
  type SettlementPolicy,
  SettleWriteError,
} from "@bq/core";
import { test } from "../harness.ts";
import { B0, ended, URN, withApp } from "./_app.ts";
import { never, type Script, ScriptedTransport } from "./_scripted.ts";

/** One message, and everything that is told about it. */
interface Row {
  readonly options?: BabelQueueOptions;
  readonly policy?: Partial<SettlementPolicy>;
  readonly body?: string;
  readonly delivery?: Partial<Delivery>;
  readonly script?: Script;
  readonly leaseMs?: number;
  /** Without one nobody handles the message. `over` resolves when the worker has ended. */
  readonly handler?: (over: Promise<void>) => unknown;
  /** Levels and types, in order. */
  readonly told: readonly string[];
}

const boom = (): never => {
  throw new Error("boom");
};
const gated = { schemaVersion: "2" };
const last = { maxAttempts: 1 };
const keep = { maxAttempts: 1, deadLetter: true };

/** A settle that cannot write, once. */
function unwritable(): Script {
  let failures = 1;
  return {
    settle: () => failures-- > 0 ? Promise.reject(new SettleWriteError("no space")) : undefined,
  };
}

const ROWS: Readonly<Record<string, Row>> = {
  "is handled": { handler: () => {}, told: ["info handled"] },
  "is tried again": { handler: boom, told: ["warn failed", "info retried"] },
  "fails for the last time": {
    options: keep,
    handler: boom,
    told: ["warn failed", "warn deadLettered"],
  },
  "fails for the last time and is not kept": {
    options: last,
    handler: boom,
    told: ["warn failed", "warn dropped"],
  },
  "nobody handles": { options: last, told: ["warn unknownUrn", "warn dropped"] },
  "nobody handles and another consumer gets": {
    options: { onUnknownUrn: "release" },
    told: ["warn unknownUrn", "info released"],
  },
  "is poison": { options: keep, body: "no json", told: ["warn poison", "warn deadLettered"] },
  "is gated and left to the broker": {
    policy: { gatedOff: "leave" },
    delivery: gated,
    told: ["warn gated", "warn left"],
  },
  "is gated and the broker keeps": {
    policy: { gatedOff: "native" },
    delivery: gated,
    told: ["warn gated", "warn deadLettered"],
  },
  "is gated and dropped": {
    policy: { gatedOff: "drop" },
    delivery: gated,
    told: ["warn gated", "warn dropped"],
  },
  "is gated and kept as it is": {
    options: keep,
    delivery: gated,
    told: ["warn gated", "warn deadLettered"],
  },
  "cannot be tried again on this broker": {
    policy: { retry: "impossible" },
    handler: boom,
    told: ["warn failed", "warn returned"],
  },
  "cannot be written": {
    options: keep,
    script: unwritable(),
    handler: boom,
    told: ["warn failed", "error writeFailed", "info returned"],
  },
  "cannot be settled": {
    script: { settle: () => Promise.reject(new Error("reset by peer")) },
    handler: () => {},
    told: ["info handled", "error settleFailed"],
  },
  "was settled by somebody else": {
    script: { settle: () => Promise.resolve("expired") },
    handler: () => {},
    told: ["info handled", "warn expired"],
  },
  "is taken away by the end of its lease": {
    leaseMs: 1_000,
    handler: never,
    told: ["warn leaseLost"],
  },
  "outlasts its time-out": {
    options: { ...last, handlerTimeoutMs: 1_000 },
    handler: (over) => over,
    told: ["warn failed", "warn dropped", "info lateResult"],
  },
};

for (const [what, row] of Object.entries(ROWS)) {
  test(`what is told of a message that ${what} has its level`, async () => {
    const { script = {}, policy = {}, leaseMs } = row;
    const lease = leaseMs === undefined ? {} : { leaseMs, extends: false };
    const transport = new ScriptedTransport(script, { policy, ...lease });
    await withApp({ transport, ...row.options }, async ({ bq, clock, seen }) => {
      await bq.connect();
      const over = Promise.withResolvers<void>();
      const { handler } = row;
      if (handler) bq.handle(URN, () => handler(over.promise));
      transport.put("shop", row.body ?? B0, row.delivery ?? {});
      await ended(bq.consume({ waitMs: 0 }), clock);
      over.resolve();
      await clock.advance(0);
      const about = seen.events.filter((event) => "messageId" in event);
      assert.deepEqual(about.map(({ level, type }) => `${level} ${type}`), row.told);
    });
  });
}

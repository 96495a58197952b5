/** Every row of the contract's decision table for RabbitMQ, on a real broker. */

import assert from "node:assert/strict";
import { type BabelQueueOptions, RetryAfterError } from "@bq/core";
import { delayQueueOf } from "@bq/rabbitmq";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { test } from "../harness.ts";
import { bodyOf, headersOf, inLab, type Lab } from "./lab.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq());

/** What is on a queue afterwards: nothing, or one message of that many attempts. */
type Left = null | { readonly attempts: number; readonly reason?: string; readonly body?: string };

interface Row {
  readonly message: "ok" | "fails" | "unknown" | "poison";
  readonly options: BabelQueueOptions;
  /** Earlier deliveries. @default {0} */
  readonly earlier?: number;
  readonly queue: Left;
  readonly dead: Left;
  /** What is told. */
  readonly event: "handled" | "retried" | "deadLettered" | "dropped" | "released";
}

const ON = { deadLetter: true } as const;
const OFF = { deadLetter: false } as const;
const EXTRA = { deadLetter: true, onUnknownUrn: "delete" } as const;
const unknown = (
  onUnknownUrn: "delete" | "release" | "dead_letter",
  more: object = {},
): object => ({
  onUnknownUrn,
  ...more,
});

const ROWS: readonly Row[] = [
  { message: "ok", options: ON, queue: null, dead: null, event: "handled" },
  { message: "ok", options: OFF, queue: null, dead: null, event: "handled" },
  { message: "ok", options: EXTRA, queue: null, dead: null, event: "handled" },
  { message: "fails", options: ON, queue: { attempts: 1 }, dead: null, event: "retried" },
  { message: "fails", options: OFF, queue: { attempts: 1 }, dead: null, event: "retried" },
  { message: "fails", options: EXTRA, queue: { attempts: 1 }, dead: null, event: "retried" },
  {
    message: "fails",
    earlier: 2,
    options: ON,
    queue: null,
    dead: { attempts: 3, reason: "failed" },
    event: "deadLettered",
  },
  { message: "fails", earlier: 2, options: OFF, queue: null, dead: null, event: "dropped" },
  {
    message: "fails",
    earlier: 2,
    options: EXTRA,
    queue: null,
    dead: { attempts: 3, reason: "failed" },
    event: "deadLettered",
  },
  { message: "unknown", options: ON, queue: { attempts: 1 }, dead: null, event: "retried" },
  { message: "unknown", options: OFF, queue: { attempts: 1 }, dead: null, event: "retried" },
  {
    message: "unknown",
    earlier: 2,
    options: ON,
    queue: null,
    dead: { attempts: 3, reason: "unknown_urn" },
    event: "deadLettered",
  },
  { message: "unknown", earlier: 2, options: OFF, queue: null, dead: null, event: "dropped" },
  { message: "unknown", options: unknown("delete"), queue: null, dead: null, event: "dropped" },
  {
    message: "unknown",
    options: unknown("release"),
    queue: { attempts: 0, body: B0 },
    dead: null,
    event: "released",
  },
  {
    message: "unknown",
    options: unknown("dead_letter"),
    queue: null,
    dead: { attempts: 0, reason: "unknown_urn" },
    event: "deadLettered",
  },
  {
    message: "unknown",
    options: unknown("dead_letter", { deadLetterQueue: null }),
    queue: null,
    dead: null,
    event: "dropped",
  },
  {
    message: "poison",
    options: ON,
    queue: null,
    dead: { attempts: 0, reason: "poison" },
    event: "deadLettered",
  },
  {
    message: "poison",
    options: OFF,
    queue: { attempts: 1, body: "not json" },
    dead: null,
    event: "retried",
  },
  {
    message: "poison",
    options: unknown("release"),
    queue: { attempts: 1, body: "not json" },
    dead: null,
    event: "retried",
  },
  { message: "poison", earlier: 2, options: OFF, queue: null, dead: null, event: "dropped" },
  { message: "poison", options: EXTRA, queue: null, dead: null, event: "dropped" },
];

for (const row of ROWS) {
  const { message, options, earlier = 0, event } = row;
  const switches = Object.entries(options).map(([name, value]) => `${name} ${value}`).join(", ");
  test(
    `${message}, delivery ${earlier + 1} of 3, ${switches}: ${event}`,
    () =>
      inLab(broker(), async ({ app, admin, queue }) => {
        const { bq, seen } = app({ maxAttempts: 3, ...options });
        if (message !== "unknown") {
          bq.handle(U, () => {
            if (message === "fails") throw new Error("boom");
          });
        }
        const headers = { "x-attempts": earlier };
        const body = message === "poison"
          ? "not json"
          : B0.replace('"attempts":0', `"attempts":${earlier}`);
        await admin.declare(queue);
        await admin.put(queue, body, { headers });
        await bq.consume({ maxMessages: 1 });
        await bq.close();
        assert.equal(seen.of(event).length, 1, seen.events.map(({ type }) => type).join(" "));
        await left(row.queue, queue);
        await left(row.dead, `${queue}.dlq`);

        async function left(wanted: Left, name: string): Promise<void> {
          assert.equal(await admin.count(name) ?? 0, wanted === null ? 0 : 1, name);
          if (wanted === null) return;
          const found = await admin.take(name);
          if (wanted.body !== undefined) assert.equal(bodyOf(found), wanted.body);
          // The header counts for what cannot be read, and is a mirror elsewhere.
          assert.equal(headersOf(found)["x-attempts"], wanted.attempts);
          const content = bodyOf(found);
          if (!content.startsWith("{")) return;
          const { attempts, dead_letter } = JSON.parse(content);
          assert.equal(dead_letter?.reason, wanted.reason);
          assert.equal(dead_letter?.attempts ?? attempts, wanted.attempts);
        }
      }),
    { ignore },
  );
}

/** A queue that refuses whatever is published beyond so many messages. */
const limitedTo = (messages: number): Record<string, unknown> => ({
  "x-max-length": messages,
  "x-overflow": "reject-publish",
});

/** Puts a message on the queue, works on it once, and expects it back as it was, the failed write told. */
async function unwritten(
  { app, admin, queue }: Lab,
  body: string,
  options: BabelQueueOptions,
  handler?: () => void | Promise<void>,
): Promise<void> {
  const { bq, seen } = app(options);
  if (handler !== undefined) bq.handle(U, handler);
  const headers = { "x-attempts": 0, tenant: "7" };
  await admin.put(queue, body, { headers });
  await bq.consume({ maxMessages: 1 });
  await bq.close();
  const told = seen.of("writeFailed").map(({ error }) => error.message);
  assert.equal(told.length, 1, seen.events.map(({ type }) => type).join(" "));
  assert.match(told[0]!, /the broker refused it/);
  for (const event of ["retried", "released", "dropped", "deadLettered", "expired"] as const) {
    assert.equal(seen.of(event).length, 0, event);
  }
  const back = await admin.take(queue);
  assert.equal(bodyOf(back), body);
  assert.deepEqual(headersOf(back), headers);
}

test(
  "a retry copy that its queue refuses leaves the message where it is, and that is told",
  () =>
    inLab(broker(), async (lab) => {
      const { admin, queue } = lab;
      await admin.declare(queue, limitedTo(1));
      await unwritten(lab, B0, { maxAttempts: 3 }, async () => {
        await admin.put(queue, "what fills it");
        throw new Error("boom");
      });
      assert.equal(bodyOf(await admin.take(queue)), "what fills it");
      assert.equal(await admin.count(queue), 0);
    }),
  { ignore },
);

const LATER_MS = 1_000;

for (
  const [what, body, options] of [
    ["retry", B0, { maxAttempts: 3 }],
    ["release", B0, { onUnknownUrn: "release", unknownUrnReleaseDelayMs: LATER_MS }],
    ["poison that is tried again", "not json", { retry: { baseMs: LATER_MS } }],
  ] as const satisfies readonly (readonly [string, string, BabelQueueOptions])[]
) {
  test(
    `a delayed copy that its delay queue refuses leaves the message where it is: ${what}`,
    () =>
      inLab(broker(), async (lab) => {
        const { admin, queue } = lab;
        await admin.declare(queue);
        await admin.declare(delayQueueOf(queue, LATER_MS), limitedTo(0));
        const fails = (): never => {
          throw new RetryAfterError(LATER_MS);
        };
        await unwritten(lab, body, options, what === "retry" ? fails : undefined);
        assert.equal(await admin.count(queue), 0);
        assert.equal(await admin.count(delayQueueOf(queue, LATER_MS)), 0);
      }),
    { ignore },
  );
}

test(
  "a dead-letter write that fails: given back after a pause, told, and written when it can be",
  () =>
    inLab(broker(), async ({ app, admin, queue }) => {
      const { bq, seen } = app({ deadLetter: true, maxAttempts: 1 });
      const times: number[] = [];
      bq.handle(U, () => {
        times.push(performance.now());
        throw new Error("boom");
      });
      await admin.declare(`${queue}.dlq`, limitedTo(0));
      await bq.publishRaw(queue, new TextEncoder().encode(B0));
      const stop = new AbortController();
      const run = bq.run({ signal: stop.signal });
      await seen.waitFor(() => seen.of("writeFailed").length >= 2);
      assert.match(seen.of("writeFailed")[0]!.error.message, /refused/);
      assert.ok(times[1]! - times[0]! >= 900, `again after ${times[1]! - times[0]!} ms`);
      assert.equal(seen.of("deadLettered").length, 0);
      await admin.delete(`${queue}.dlq`);
      await seen.waitFor("deadLettered");
      stop.abort();
      await run;
      assert.equal(await admin.count(`${queue}.dlq`), 1);
      assert.equal(await admin.count(queue), 0);
    }),
  { ignore },
);

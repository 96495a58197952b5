/**
 * The shared values of the contract's worked cases, under the names that the cases use.
 *
 * @module
 */

import assert from "node:assert/strict";
import { poisonBlock, poisonRecord } from "../../core/poison.ts";
import { decide, type DecideOptions, type Outcome, type Subject } from "../../runtime/decide.ts";
import type { Verdict } from "../../runtime/transport.ts";
import { bytes, NOW_MS, options, POLICIES, text } from "./_decisions.ts";

/** The URN. */
export const U = "urn:babel:shop:paid";
/** The trace id. */
export const TR = "11111111-2222-4333-8444-555555555555";
/** `meta.id`. */
export const ID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
/** A W3C trace parent. */
export const TP = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** The `data` of {@linkcode B0}. */
export const DATA = '"data":{"id":7,"tags":[]}';
/** The `meta` of {@linkcode B0}. */
export const META: string = `"meta":{"id":"${ID}","queue":"shop","lang":"go","schema_version":1,` +
  '"created_at":1760000000123}';

/** The canonical body, 244 bytes. */
export const B0: string = b0({});
/** The same after one failed delivery. */
export const B1: string = b0({ attempts: '"attempts":1' });
/** The same after two. */
export const B2: string = b0({ attempts: '"attempts":2' });

/** B0 with members spelled otherwise; an empty text leaves one out. */
export function b0(
  members: { job?: string; trace?: string; data?: string; meta?: string; attempts?: string },
): string {
  const {
    job = `"job":"${U}"`,
    trace = `"trace_id":"${TR}"`,
    data = DATA,
    meta = META,
    attempts = '"attempts":0',
  } = members;
  return `{${[job, trace, data, meta, attempts].filter((member) => member !== "").join(",")}}`;
}

/** A `dead_letter` member as text; error and exception are null unless given. */
export function deadLetterText(
  reason: string,
  attempts: number,
  queue: string,
  error: string | null = null,
  exception: string | null = null,
): string {
  return `"dead_letter":{"reason":"${reason}","error":${JSON.stringify(error)},` +
    `"exception":${JSON.stringify(exception)},"failed_at":${NOW_MS},` +
    `"original_queue":"${queue}","attempts":${attempts},"lang":"node"}`;
}

/** A poison record's text with the cause cut out, so that only what the contract fixes is left. */
export function poisonText(
  body: Uint8Array | string,
  attempts = 0,
  originalQueue = "shop",
): string {
  const block = poisonBlock({
    cause: "CAUSE",
    originalQueue,
    attempts,
    failedAtMs: NOW_MS,
  });
  return text(poisonRecord(typeof body === "string" ? bytes(body) : body, block));
}

/** `DL("poison", attempts, "shop")` of the worked cases. */
export function poisonDeadLetter(attempts = 0): string {
  return deadLetterText(
    "poison",
    attempts,
    "shop",
    "Undecodable BabelQueue body: CAUSE",
    "BabelQueueError",
  );
}

/** A failed handler. */
export const BOOM: Outcome = { kind: "failed", error: new Error("boom") };

/** One decision on a broker, B0 from queue `shop` unless overridden. */
export function decideOn(
  broker: string,
  outcome: Outcome,
  overrides: Partial<DecideOptions> = {},
  delivery: Partial<Omit<Subject, "body">> & { body?: Uint8Array | string } = {},
): Verdict {
  return decisionOn(broker, outcome, overrides, delivery).verdict;
}

/** As {@linkcode decideOn}, with the hold. */
export function decisionOn(
  broker: string,
  outcome: Outcome,
  overrides: Partial<DecideOptions> = {},
  delivery: Partial<Omit<Subject, "body">> & { body?: Uint8Array | string } = {},
): ReturnType<typeof decide> {
  const policy = POLICIES[broker] ?? assert.fail(`no broker '${broker}'`);
  const { body = B0, ...rest } = delivery;
  return decide(
    outcome,
    {
      queue: "shop",
      metaQueue: "shop",
      reconciled: 0,
      nowMs: NOW_MS,
      random: 0.25,
      ...rest,
      body: typeof body === "string" ? bytes(body) : body,
    },
    policy,
    options(overrides),
  );
}

/** The record, its text and its queue; fails for any other verdict. */
export function recordOf(verdict: Verdict): { queue: string; reason: string; text: string } {
  assert.equal(verdict.kind, "deadLetter");
  assert.ok(verdict.kind === "deadLetter");
  return { queue: verdict.queue, reason: verdict.reason, text: text(verdict.record) };
}

/** The retry copy's text and count; fails for any other verdict. */
export function retryOf(verdict: Verdict): { text: string; attempts: number; delayMs: number } {
  assert.equal(verdict.kind, "retry");
  assert.ok(verdict.kind === "retry");
  return { text: text(verdict.body), attempts: verdict.attempts, delayMs: verdict.delayMs };
}

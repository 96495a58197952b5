/**
 * The decision tables of the contract as one pure function: what a delivery's outcome means for the
 * broker that it came from.
 *
 * @module
 */

import { saturate } from "../core/attempts.ts";
import { deadLetterBlock } from "../core/dead_letter.ts";
import { attempt, codeOf } from "../core/thrown.ts";
import { describeVersion } from "../core/gate.ts";
import { poisonBlock, poisonRecord } from "../core/poison.ts";
import { type Case, edited, native, originalQueue, record, recordsOn } from "./_records.ts";
import type { RetryOptions, UnknownUrnStrategy } from "./options.ts";
import type { OffRoute, SettlementPolicy } from "./policy.ts";
import { backoffMs, type Pace, releasePace, retryPace } from "./retry.ts";
import type { Verdict } from "./transport.ts";

/** The delivery that an outcome is about, with the time and the chance that the decision may use. */
export interface Subject {
  /** Queue it was received from. */
  readonly queue: string;
  /** The body, byte for byte. */
  readonly body: Uint8Array;
  /** `meta.queue` of a readable body. */
  readonly metaQueue?: string | null | undefined;
  /** What `canonical` of the body's verdict says; true makes a retry copy or a record without a second look at `data`. */
  readonly canonical?: boolean | undefined;
  /** Earlier deliveries, 0-based, body and broker counters combined. */
  readonly reconciled: number;
  /** Now, in Unix milliseconds. */
  readonly nowMs: number;
  /** A number of at least 0 and below 1, for jitter. */
  readonly random: number;
}

/** How the work on a delivery ended. */
export type Outcome =
  /** The handler returned. */
  | { readonly kind: "handled" }
  /** The handler threw, or ran past its time-out. `NonRetriableError` and `RetryAfterError` are obeyed. */
  | { readonly kind: "failed"; readonly error: unknown }
  /** No handler for the URN of a readable body. */
  | { readonly kind: "unknownUrn"; readonly error: Error }
  /** The body cannot be read, has no identity or another version. */
  | { readonly kind: "poison"; readonly cause: string }
  /** The native version slot holds another version; the body was not looked at. */
  | { readonly kind: "gated"; readonly version: unknown }
  /** The write of an earlier verdict failed. */
  | { readonly kind: "writeFailed" }
  /** The worker stops, or the message came after it was told to. */
  | { readonly kind: "shutdown" };

/** The options that a decision reads, resolved; a handler's own `maxAttempts` stands in for the worker's. */
export interface DecideOptions {
  /** Strategy for an unknown URN; undefined = not set = `fail`. */
  readonly onUnknownUrn?: UnknownUrnStrategy | undefined;
  /** Deliveries in all, the first included; 1 or more. */
  readonly maxAttempts: number;
  /** Whether dead-lettering is on. */
  readonly deadLetter: boolean;
  /** A name of its own switches dead-lettering on, null opts out, undefined derives the name. */
  readonly deadLetterQueue?: string | null | undefined;
  /** Replaces the broker's own suffix of a derived name. */
  readonly deadLetterSuffix?: string | undefined;
  /** Back-off, and the longest time that the worker holds a message. */
  readonly retry: Required<RetryOptions>;
  /** Delay of an unknown URN's release, in milliseconds. */
  readonly unknownUrnReleaseDelayMs: number;
}

/** What to do with a delivery. */
export interface Decision {
  /** What the transport is told. */
  readonly verdict: Verdict;
  /** How long the worker keeps the message first, lease extended; 0 = not at all. */
  readonly holdMs: number;
  /** The delay that was asked for, only set when the broker's or the worker's limit cut it. */
  readonly requestedMs?: number;
}

/** What is decided about every message that was handled. */
export const ACK: Decision = Object.freeze({ verdict: Object.freeze({ kind: "ack" }), holdMs: 0 });

/**
 * Decides how a delivery is settled. Pure: the same input gives the same answer, nothing is changed,
 * and the body is only read where a record or a retry copy is made of it.
 *
 * An `ack` for anything but `handled` is a drop. The `body` of a retry is made when it is read, so a
 * broker that counts natively pays nothing for it.
 *
 * @param outcome How the work ended.
 * @param subject The delivery.
 * @param policy The rules of the transport instance.
 * @param options The resolved options.
 * @returns The verdict, and how long to hold the message before it.
 * @throws {BabelQueueError} `invalid_envelope` when a `failed` or `unknownUrn` delivery has a body that
 * is no JSON object, of which no record can be made; reading the `body` of its retry throws the same.
 *
 * @example Settle a message that cannot be read
 * ```ts
 * import { memory } from "@bq/core";
 * import { decide } from "@bq/core/transport";
 * import assert from "node:assert/strict";
 *
 * const delivery = {
 *   queue: "orders",
 *   body: new TextEncoder().encode("not json"),
 *   reconciled: 0,
 *   nowMs: 1_760_000_000_000,
 *   random: 0.5,
 * };
 * const options = {
 *   maxAttempts: 3,
 *   deadLetter: true,
 *   retry: { baseMs: 0, multiplier: 1, maxMs: 0, jitter: "none", maxHoldMs: 30_000 },
 *   unknownUrnReleaseDelayMs: 0,
 * } as const;
 * const outcome = { kind: "poison", cause: "not JSON" } as const;
 * const { verdict } = decide(outcome, delivery, memory().policy, options);
 * assert(verdict.kind === "deadLetter");
 * assert.equal(verdict.queue, "orders.dlq");
 * ```
 */
export function decide(
  outcome: Outcome,
  subject: Subject,
  policy: SettlementPolicy,
  options: DecideOptions,
): Decision {
  const of: Case = { subject, policy, options };
  switch (outcome.kind) {
    case "handled":
      return ACK;
    case "failed":
      return failed(of, "failed", outcome.error);
    case "unknownUrn":
      return unknownUrn(of, outcome.error);
    case "poison":
      return poison(of, outcome.cause);
    case "gated":
      return gated(of, outcome.version);
    case "writeFailed":
      return writeFailed(policy);
    case "shutdown":
      return { verdict: { kind: policy.shutdown }, holdMs: 0 };
  }
}

/** Ordinal of this delivery, saturated. Contract: C138, C139a. */
function countedOf({ subject }: Case): number {
  return saturate(subject.reconciled + 1);
}

/** The failure route: try again below the cap, else a record or the broker's way without one. Contract: G41, C138. */
function failed(of: Case, reason: "failed" | "unknown_urn", error: unknown): Decision {
  const { subject, policy, options } = of;
  const counted = countedOf(of);
  if (counted >= options.maxAttempts || codeOf(error) === "non_retriable") {
    return exhausted(of, reason, error, counted);
  }
  const requestedMs = delayOf(error) ?? backoffMs(options.retry, counted, subject.random);
  return retry(
    of,
    counted,
    retryPace(requestedMs, policy.retryDelay, options.retry.maxHoldMs),
    () => edited(of, { attempts: counted }),
  );
}

/** The wait that the handler asked for. Nobody checked it when the error was changed, or made by another copy. */
function delayOf(error: unknown): number | undefined {
  if (codeOf(error) !== "retry_after") return undefined;
  const delayMs = attempt(() => (error as { delayMs?: unknown }).delayMs);
  return typeof delayMs === "number" && delayMs >= 0 && delayMs < Infinity ? delayMs : undefined;
}

function exhausted(
  of: Case,
  reason: "failed" | "unknown_urn",
  error: unknown,
  counted: number,
): Decision {
  const block = deadLetterBlock({
    reason,
    error,
    originalQueue: originalQueue(of),
    attempts: counted,
    failedAtMs: of.subject.nowMs,
  });
  if (recordsOn(of)) {
    return record(
      of,
      reason,
      edited(of, { attempts: counted, deadLetter: block }),
    );
  }
  if (of.policy.exhaustedOff === "drop") return ACK;
  const why = counted >= of.options.maxAttempts ? "max attempts exhausted" : "not retriable";
  return native(why, block.error);
}

/** Contract: C144–C148, G33. */
function unknownUrn(of: Case, error: Error): Decision {
  const { subject, policy, options } = of;
  switch (options.onUnknownUrn ?? "fail") {
    case "fail":
      return failed(of, "unknown_urn", error);
    case "delete":
      return ACK;
    case "dead_letter": {
      if (!recordsOn(of)) return ACK; // opted out: degrades to delete
      const attempts = saturate(subject.reconciled);
      const deadLetter = deadLetterBlock({
        reason: "unknown_urn",
        error: null,
        originalQueue: originalQueue(of),
        attempts,
        failedAtMs: subject.nowMs,
      });
      return record(of, "unknown_urn", edited(of, { attempts, deadLetter }));
    }
    case "release": {
      const pace = releasePace(
        options.unknownUrnReleaseDelayMs,
        policy.retryDelay,
        options.retry.maxHoldMs,
      );
      if (policy.release === "unbounded") {
        return paced({ kind: "release", delayMs: pace.delayMs }, pace);
      }
      const counted = countedOf(of);
      if (counted >= options.maxAttempts) return exhausted(of, "unknown_urn", error, counted);
      return retry(of, counted, pace, () => edited(of, { attempts: counted }));
    }
  }
}

/** Contract: C151–C156, G31, G33. */
function poison(of: Case, cause: string): Decision {
  const { subject, policy, options } = of;
  if (policy.poison.deletable && options.onUnknownUrn === "delete") return ACK;
  const on = recordsOn(of);
  // With records off, the strategy `dead_letter` means that the queue is opted out.
  const off = options.onUnknownUrn === "dead_letter" ? policy.poison.optedOut : policy.poison.off;
  const route: OffRoute = on ? "deadLetter" : off;
  switch (route) {
    case "deadLetter": {
      const block = poisonBlock({
        cause,
        originalQueue: subject.queue, // the body is untrusted, its meta.queue too
        attempts: saturate(subject.reconciled),
        failedAtMs: subject.nowMs,
      });
      return record(of, "poison", poisonRecord(subject.body, block));
    }
    case "retry": {
      const counted = countedOf(of);
      if (counted >= options.maxAttempts) return ACK;
      const requestedMs = backoffMs(options.retry, counted, subject.random);
      const pace = retryPace(requestedMs, policy.retryDelay, options.retry.maxHoldMs);
      return retry(of, counted, pace, () => subject.body);
    }
    case "native":
      return native("poison", `Undecodable BabelQueue body: ${cause}`);
    case "leave":
      return { verdict: { kind: "leave" }, holdMs: 0 };
    case "drop":
      return ACK;
  }
}

/** Settled at first sight, whatever the counters say; `release` counts as `fail`. Contract: C81, G24, G25, G31. */
function gated(of: Case, version: unknown): Decision {
  if (of.options.onUnknownUrn === "delete") return ACK;
  if (recordsOn(of)) return record(of, "gated", of.subject.body);
  switch (of.policy.gatedOff) {
    case "leave":
      return { verdict: { kind: "leave" }, holdMs: 0 };
    case "native":
      return native("unsupported schema version", describeVersion(version));
    default:
      return ACK;
  }
}

function writeFailed(policy: SettlementPolicy): Decision {
  return { verdict: { kind: policy.writeFailed.kind }, holdMs: policy.writeFailed.holdMs };
}

function retry(of: Case, attempts: number, pace: Pace, body: () => Uint8Array): Decision {
  // Nothing can be produced and nothing is settled: as after a failed write. Contract: K25.
  if (of.policy.retry === "impossible") return writeFailed(of.policy);
  let made: Uint8Array | undefined;
  const verdict: Verdict = {
    kind: "retry",
    attempts,
    delayMs: pace.delayMs,
    get body(): Uint8Array {
      return made ??= body();
    },
  };
  return paced(verdict, pace);
}

function paced(verdict: Verdict, { holdMs, requestedMs }: Pace): Decision {
  return requestedMs === undefined ? { verdict, holdMs } : { verdict, holdMs, requestedMs };
}

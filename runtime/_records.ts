/**
 * What a decision writes, and where it goes.
 *
 * @module
 */

import { isBlank } from "../core/blank.ts";
import { type Edit, reemit } from "../core/splice.ts";
import type { DecideOptions, Decision, Subject } from "./decide.ts";
import type { SettlementPolicy } from "./policy.ts";
import type { DeadLetterReason } from "./transport.ts";

/** Longest description that goes with a native dead-lettering, in UTF-16 units. Contract: A15. */
const LONGEST_DESCRIPTION = 4096;

/** Everything that a decision is made from. */
export interface Case {
  /** The delivery. */
  readonly subject: Subject;
  /** The rules of the broker. */
  readonly policy: SettlementPolicy;
  /** The rules of the user. */
  readonly options: DecideOptions;
}

/** Whether records are written at all. Contract: G30. */
export function recordsOn({ options }: Case): boolean {
  if (options.deadLetterQueue === null) return false;
  return options.deadLetterQueue !== undefined || options.deadLetter ||
    options.onUnknownUrn === "dead_letter";
}

/** The body of a readable message with another count and, for a record, the block. Contract: C56. */
export function edited({ subject }: Case, edit: Omit<Edit, "canonical">): Uint8Array {
  return reemit(subject.body, { ...edit, canonical: subject.canonical === true });
}

/** A record for the dead-letter queue: the configured name, else the one derived from the queue. Contract: G34. */
export function record(of: Case, reason: DeadLetterReason, bytes: Uint8Array): Decision {
  const { subject, policy, options } = of;
  const queue = options.deadLetterQueue ??
    policy.deadLetterQueue(subject.queue, options.deadLetterSuffix);
  return { verdict: { kind: "deadLetter", record: bytes, queue, reason }, holdMs: 0 };
}

/** The broker's own dead-letter place, with a reason for whoever looks there. Contract: A14, A15. */
export function native(reason: string, description: string | null): Decision {
  if (description === null) return { verdict: { kind: "deadLetterNatively", reason }, holdMs: 0 };
  // The cut may fall inside a surrogate pair.
  const cut = description.slice(0, LONGEST_DESCRIPTION).toWellFormed();
  return { verdict: { kind: "deadLetterNatively", reason, description: cut }, holdMs: 0 };
}

/** What `original_queue` of a readable message names. Contract: C109, G35. */
export function originalQueue({ subject, policy }: Case): string {
  const { metaQueue } = subject;
  if (policy.originalQueue === "received" || typeof metaQueue !== "string") return subject.queue;
  return isBlank(metaQueue) ? subject.queue : metaQueue;
}

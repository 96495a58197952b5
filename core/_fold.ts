/**
 * What reading does to a parsed envelope: the alias `urn` becomes `job`, forbidden members go, and
 * each of it is told once. Contract: C25–C28, C32.
 *
 * @module
 */

import { isBlank } from "./blank.ts";
import { FORBIDDEN_META } from "./_contract.ts";
import type { EnvelopeWarning, IncomingEnvelope } from "./envelope.ts";

/** An envelope after reading, and what there is to tell about it. */
export interface Folded {
  readonly envelope: IncomingEnvelope;
  readonly warnings: readonly EnvelopeWarning[];
}

/** Whether a value can be an identity: a string that is not blank. Contract: C45. */
export function isIdentity(value: unknown): value is string {
  return typeof value === "string" && !isBlank(value);
}

/** A member of a parsed value, never one of its prototype. */
export function own(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** Whether a value is an object and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The identity of a parsed envelope: a valid `job`, else a valid `urn`, else empty. Contract: C99. */
export function identityOf(envelope: unknown): string {
  const job = own(envelope, "job");
  if (isIdentity(job)) return job;
  const urn = own(envelope, "urn");
  return isIdentity(urn) ? urn : "";
}

/** Folds a parsed envelope. The argument is not changed; without a fold it is the result. */
export function fold(parsed: IncomingEnvelope): Folded {
  const warnings: EnvelopeWarning[] = [];
  let envelope = foldIdentity(parsed, warnings);
  if (Object.hasOwn(envelope, "timestamp")) {
    envelope = without(envelope, ["timestamp"], "", warnings);
  }
  const meta = own(envelope, "meta");
  if (isObject(meta) && FORBIDDEN_META.some((name) => Object.hasOwn(meta, name))) {
    envelope = { ...envelope, meta: without(meta, FORBIDDEN_META, "/meta", warnings) };
  }
  return { envelope, warnings };
}

function foldIdentity(parsed: IncomingEnvelope, warnings: EnvelopeWarning[]): IncomingEnvelope {
  const { job, urn } = { job: own(parsed, "job"), urn: own(parsed, "urn") };
  if (Object.hasOwn(parsed, "job") && typeof job !== "string") {
    warnings.push({
      code: "job_ignored",
      pointer: "/job",
      message: "Ignored member /job: it is no string",
    });
  }
  if (!Object.hasOwn(parsed, "urn")) return parsed;
  if (isIdentity(job)) {
    warnings.push({
      code: "urn_alias",
      pointer: "/urn",
      message: "Removed member /urn: the message has a job",
    });
    return removed(parsed, ["urn"]);
  }
  // Without an identity there is nothing to fold, and the object stays as it came.
  if (!isIdentity(urn)) return parsed;
  return { job: urn, ...removed(parsed, ["urn", "job"]) };
}

function without(
  object: IncomingEnvelope,
  names: readonly string[],
  pointer: string,
  warnings: EnvelopeWarning[],
): IncomingEnvelope {
  for (const name of names) {
    if (!Object.hasOwn(object, name)) continue;
    const path = `${pointer}/${name}`;
    warnings.push({
      code: "forbidden_key",
      pointer: path,
      message: `Removed member ${path}: it is forbidden`,
    });
  }
  return removed(object, names);
}

/** A copy without some members; `__proto__` is a member like any other. Contract: C73. */
function removed(object: IncomingEnvelope, names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = { ...object };
  for (const name of names) delete copy[name];
  return copy;
}

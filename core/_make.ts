/**
 * What making an envelope and encoding a new one have in common: the checks, in one place.
 *
 * @module
 */

import { trimAscii } from "./blank.ts";
import { CORE_META, DEFAULT_QUEUE, FORBIDDEN_META } from "./_contract.ts";
import { BabelQueueError, EnvelopeKeyError } from "./errors.ts";
import { isObject } from "./_fold.ts";
import { escape, resolved } from "./_json.ts";

/** The URN of a new message, trimmed. Contract: C90. */
export function jobOf(urn: string): string {
  const job = typeof urn === "string" ? trimAscii(urn) : "";
  if (job === "") {
    throw new BabelQueueError("invalid_envelope", "Cannot make an envelope: the URN is empty");
  }
  return job;
}

/** The trace id of a new message: the given one, trimmed, or a new one. Contract: C91. */
export function traceIdOf(traceId: string | null | undefined, newId: () => string): string {
  return trimAscii(optionalText("traceId", traceId)) || newId();
}

/** The queue of a new message. Contract: C94. */
export function queueOf(queue: string | undefined): string {
  return optionalText("queue", queue) || DEFAULT_QUEUE;
}

/** What an option says, empty when it says nothing; written as anything but a string it is poison to every reader. */
function optionalText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  const what = Array.isArray(value)
    ? "an array"
    : typeof value === "object" || typeof value === "function"
    ? `of type ${typeof value}`
    : String(value);
  throw new BabelQueueError(
    "invalid_envelope",
    `Cannot make an envelope: '${name}' is ${what}, and must be a string`,
  );
}

/** The payload of a new message, as an object that may be written. Contract: C92, GR-3. */
export function dataOf(data: object | null | undefined): object {
  return objectOf(data ?? {}, "data");
}

/** What a member is written as, which has to be an object. */
function objectOf(given: unknown, name: string): Record<string, unknown> {
  const value = resolved(given, name, `/${name}`);
  if (isObject(value)) return value;
  const what = Array.isArray(value) ? "an array" : value === null ? "null" : typeof value;
  throw new BabelQueueError(
    "invalid_data",
    `Cannot encode /${name}: it must be a JSON object, not ${what}`,
  );
}

/** The extensions of `meta` as they are written; none may be named like a member of the contract. Contract: C51, C52. */
export function extensionsOf(
  meta: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const extensions = objectOf(meta, "meta");
  for (const name of Object.keys(extensions)) {
    if (!CORE_META.includes(name) && !FORBIDDEN_META.includes(name)) continue;
    const pointer = `/meta/${escape(name)}`;
    throw new EnvelopeKeyError(
      pointer,
      `Cannot write ${pointer}: ${
        FORBIDDEN_META.includes(name) ? "the member is forbidden" : "only the codec writes it"
      }`,
    );
  }
  return extensions;
}

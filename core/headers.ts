/**
 * Headers travel beside the body, never inside it. This file cleans them, merges them with a
 * broker's own slots, and reads the replay marker. Contract: C199–C205, C303, C304.
 *
 * @module
 */

/** A map of headers without a prototype. Contract: C303, C315. */
export type HeaderCarrier = Readonly<Record<string, string>>;

/** Header that marks a replayed message; any value but the empty one counts. Contract: C199. */
export const HEADER_REPLAY_BYPASS = "bq-replay-bypass";

/** Header of the W3C trace context. */
export const HEADER_TRACEPARENT = "traceparent";

/** Header of the W3C trace state. */
export const HEADER_TRACESTATE = "tracestate";

/**
 * Copies a map of headers without entries that have an empty name or an empty or null value; what is
 * no text becomes text. Contract: C304.
 *
 * @param headers The map; null and undefined are an empty one.
 * @returns A new map without a prototype.
 */
export function sanitizeHeaders(
  headers: Readonly<Record<string, unknown>> | null | undefined,
): HeaderCarrier {
  const clean = emptyHeaders();
  if (typeof headers !== "object" || headers === null) return clean;
  for (const name of Object.keys(headers)) {
    const value = headerText(headers[name]);
    if (name !== "" && value !== "") clean[name] = value;
  }
  return clean;
}

/**
 * Lays a broker's contract slots over foreign headers: a slot beats a header of the same name.
 * Contract: C304, G6.
 *
 * @param riders Foreign headers; they are sanitised.
 * @param contract The contract slots, taken as they are.
 * @returns A new map without a prototype.
 */
export function mergeHeaders(
  riders: Readonly<Record<string, unknown>> | null | undefined,
  contract: HeaderCarrier,
): HeaderCarrier {
  return Object.assign(sanitizeHeaders(riders) as Record<string, string>, contract);
}

/**
 * The headers of a dead-letter record: those of the delivery without the replay marker, since a later
 * redrive that does not ask for a bypass must run the effects. Contract: G9a.
 *
 * @param headers The headers of the delivery.
 * @returns The same map when it holds no marker.
 */
export function recordHeaders(headers: HeaderCarrier): HeaderCarrier {
  if (!Object.hasOwn(headers, HEADER_REPLAY_BYPASS)) return headers;
  const { [HEADER_REPLAY_BYPASS]: _, ...kept } = headers;
  return Object.freeze(Object.assign(Object.create(null), kept));
}

/**
 * Tells whether a message is a replay. `0` and `false` are values too. Contract: C199.
 *
 * @param headers The headers of the delivery.
 * @returns True when the replay marker is there and not empty.
 */
export function isReplay(
  headers: Readonly<Record<string, unknown>> | null | undefined,
): boolean {
  if (typeof headers !== "object" || headers === null) return false;
  if (!Object.hasOwn(headers, HEADER_REPLAY_BYPASS)) return false;
  return headerText(headers[HEADER_REPLAY_BYPASS]) !== "";
}

/** What {@linkcode bypassExternalEffects} tells. */
export interface BypassOptions {
  /**
   * Called when the effect is skipped, to count or to log it.
   *
   * @default {undefined}
   */
  readonly onBypass?: () => void;
}

/**
 * Runs an external effect, unless the message is a replay. Wrap effects only: the marker is not
 * authenticated, so authorization, validation and limits must run on a replay too.
 * Contract: C200, C203, C204.
 *
 * @param headers The headers of the delivery.
 * @param effect The effect.
 * @param options What to tell about a skipped effect.
 * @returns What the effect gave, or undefined when it was skipped.
 *
 * @example Skip an e-mail on a replay
 * ```ts
 * import { bypassExternalEffects } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const send = () => "sent";
 * assert.equal(await bypassExternalEffects({}, send), "sent");
 * assert.equal(await bypassExternalEffects({ "bq-replay-bypass": "1" }, send), undefined);
 * ```
 */
export async function bypassExternalEffects<T>(
  headers: Readonly<Record<string, unknown>> | null | undefined,
  effect: () => T | Promise<T>,
  options: BypassOptions = {},
): Promise<T | undefined> {
  if (isReplay(headers)) {
    options.onBypass?.();
    return undefined;
  }
  return await effect();
}

function emptyHeaders(): Record<string, string> {
  return Object.create(null) as Record<string, string>;
}

/** The text of a header's value; empty when it has none. */
function headerText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  try {
    return String(value);
  } catch {
    return "";
  }
}

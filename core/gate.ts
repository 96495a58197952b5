/**
 * The version gate: what a native schema-version slot beside the body lets pass, before the body is
 * looked at. Contract: C75–C79, G20–G27.
 *
 * @module
 */

import { isBlank } from "./blank.ts";

/** Longest part of a version that goes into a message. Contract: C79. */
const LONGEST_VERSION = 64;

/**
 * Judges the native schema-version slot of a delivery. Nothing is trimmed: absent, null or blank
 * passes, and so does exactly `1` (text, number or bigint); anything else is gated.
 * Contract: C76–C78.
 *
 * @param slot The slot as it came.
 * @returns Whether the body may be decoded.
 */
export function versionGate(slot: unknown): "pass" | "gated" {
  switch (typeof slot) {
    case "undefined":
      return "pass";
    case "string":
      return slot === "1" || isBlank(slot) ? "pass" : "gated";
    case "number":
      return slot === 1 ? "pass" : "gated";
    case "bigint":
      return slot === 1n ? "pass" : "gated";
    default:
      return slot === null ? "pass" : "gated";
  }
}

/**
 * Names the reserved route of a gated message. It is never written to the wire. Contract: C79, C80.
 *
 * @param slot The slot as it came.
 * @returns `babelqueue:unsupported-schema-version:` and the percent-escaped version.
 */
export function gatedRoute(slot: unknown): string {
  const version = encodeURIComponent(versionText(slot).toWellFormed());
  return `babelqueue:unsupported-schema-version:${version}`;
}

/**
 * Describes a version for a message: its first 64 characters, and `...` when there are more.
 *
 * @param slot The slot as it came; anything, and nothing makes this throw.
 * @returns The text.
 */
export function describeVersion(slot: unknown): string {
  const text = versionText(slot);
  // A character is one or two UTF-16 units; none is cut in half.
  const characters = [...text.slice(0, 2 * LONGEST_VERSION + 2)];
  if (characters.length <= LONGEST_VERSION) return text;
  return `${characters.slice(0, LONGEST_VERSION).join("")}...`;
}

function versionText(slot: unknown): string {
  try {
    return String(slot);
  } catch {
    return typeof slot;
  }
}

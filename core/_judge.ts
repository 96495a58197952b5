/**
 * The verdict on a whole body: every strict rule of the contract, closed before a handler runs.
 *
 * @module
 */

import { DEEPEST_NESTING } from "./_contract.ts";
import type { JsonObject } from "./envelope.ts";
import { type Frame, frameOfText } from "./_frame.ts";
import { illTyped, lastMember, layoutOf } from "./_layout.ts";
import { holdsLongInteger, mayHoldLongInteger, overflows, parseExactly } from "./_numbers.ts";
import { splitsPair } from "./_pairs.ts";
import type { ReadOptions } from "./reading.ts";
import { NO_ROUTE, routeOfEnvelope, routeOfLayout } from "./_route.ts";
import { nestsTooDeep, type ObjectSpan, skipSpace } from "./_scan.ts";
import { textOf } from "./_text.ts";
import { CanonicalVerdict, FullVerdict, type Judgement } from "./_verdicts.ts";

const NOT_FINITE = "data holds a number that is no finite double";
const NOT_FINITE_ANYWHERE = "the body holds a number that is no finite double";
const HALF_PAIR = "the body escapes half a surrogate pair";
const NOT_JSON = "the body is no valid JSON";
const NO_IDENTITY = "neither job nor urn is a string that is not blank";

/** Judges a body. */
export function judge(body: Uint8Array | string, options: ReadOptions): Judgement {
  const text = textOf(body);
  if (text === null) return unreadable("poison", "the body is not valid UTF-8");
  const frame = frameOfText(text);
  return (frame && judgeFrame(body, text, frame, options)) ?? judgeText(body, text, options);
}

/** Judges a canonical envelope; null when something hides in it that needs the long way. */
function judgeFrame(
  body: Uint8Array | string,
  text: string,
  frame: Frame,
  { bigint = false, wide = false }: ReadOptions,
): Judgement | null {
  const slice = text.slice(frame.dataStart, text.length - frame.dataTail);
  if (nestsTooDeep(slice, DEEPEST_NESTING - 1) || overflows(slice)) return null;
  // Outside of its data a canonical envelope has neither escapes nor numbers of any length.
  if (wide && splitsPair(slice)) return null;
  try {
    const data = bigint && mayHoldLongInteger(body) ? parseExactly(slice) : JSON.parse(slice);
    return new CanonicalVerdict(body, frame, data as JsonObject);
  } catch {
    return null;
  }
}

/** Judges a body of any shape. */
function judgeText(
  body: Uint8Array | string,
  text: string,
  { bigint = false, wide = false }: ReadOptions,
): Judgement {
  const root = layoutOf(text);
  if (typeof root === "string") {
    return isNull(text) ? unreadable("no_identity", NO_IDENTITY) : unreadable("poison", root);
  }
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return unreadable("poison", NOT_JSON);
  }
  const cause = illTyped(text, root) ?? (dataOverflows(text, root) ? NOT_FINITE : null) ??
    (wide ? beyondCjson(text) : null);
  const route = cause === null ? routeOfEnvelope(parsed) : routeOfLayout(text, root);
  const data = lastMember(root, "data");
  let inexact = false;
  if (data !== undefined && mayHoldLongInteger(body)) {
    const slice = text.slice(data.valueStart, data.valueEnd);
    inexact = holdsLongInteger(slice);
    if (bigint && inexact) parsed["data"] = parseExactly(slice);
  }
  const verdict = cause !== null ? "poison" : route.urn === "" ? "no_identity" : "ok";
  return new FullVerdict({
    verdict,
    cause: cause ?? (verdict === "ok" ? "" : NO_IDENTITY),
    parsed,
    route,
    inexactIntegers: inexact,
    readable: true,
  });
}

function dataOverflows(text: string, root: ObjectSpan): boolean {
  return root.members.some(({ name, valueStart, valueEnd }) =>
    name === "data" && overflows(text.slice(valueStart, valueEnd))
  );
}

/** What a decoder is wont to refuse that is strict where JSON is not. */
function beyondCjson(text: string): string | null {
  if (overflows(text)) return NOT_FINITE_ANYWHERE;
  return splitsPair(text) ? HALF_PAIR : null;
}

function isNull(text: string): boolean {
  const at = skipSpace(text, 0);
  return text.startsWith("null", at) && skipSpace(text, at + 4) === text.length;
}

function unreadable(verdict: "poison" | "no_identity", cause: string): Judgement {
  return new FullVerdict({
    verdict,
    cause,
    parsed: {},
    route: NO_ROUTE,
    inexactIntegers: false,
    readable: false,
  });
}

/**
 * The verdict on a whole body: every strict rule of the contract, closed before a handler runs.
 *
 * @module
 */

import { DEEPEST_NESTING, SCHEMA_VERSION } from "./_contract.ts";
import type { BodyVerdict } from "./reading.ts";
import type { EnvelopeWarning, IncomingEnvelope, JsonObject } from "./envelope.ts";
import { fold, isIdentity, isObject, own } from "./_fold.ts";
import { type Frame, frameOfText } from "./_frame.ts";
import { illTyped, layoutOf } from "./_layout.ts";
import { inspectNumbers, type NumberFinding, parseExactly } from "./_numbers.ts";
import { NO_ROUTE, type Route, routeOfFrame, routeOfLayout } from "./_route.ts";
import { endOfContainer, type ObjectSpan, TOO_DEEP } from "./_scan.ts";
import { decodeUtf8 } from "./_text.ts";

const NOT_FINITE = "data holds a number that is no finite double";
const NOT_JSON = "the body is no valid JSON";
const NO_IDENTITY = "neither job nor urn is a string that is not blank";

const NONE: readonly never[] = Object.freeze([]);

/** A verdict, and the routing fields that go with it. */
export interface Judgement {
  readonly route: Route;
  readonly verdict: BodyVerdict;
  /** Whether the body is a JSON object at all. */
  readonly readable: boolean;
}

/** Judges a body. */
export function judge(body: Uint8Array | string, bigint: boolean): Judgement {
  const text = typeof body === "string"
    // An unpaired surrogate has no UTF-8 form, so a text that holds one was never a body.
    ? (body.isWellFormed() ? body : null)
    : decodeUtf8(body);
  if (text === null) return unreadable("poison", "the body is not valid UTF-8");
  const frame = frameOfText(text);
  return (frame && judgeFrame(text, frame, bigint)) ?? judgeText(text, bigint);
}

/** Judges a canonical envelope; null when something hides between `data` and `meta`. */
function judgeFrame(text: string, frame: Frame, bigint: boolean): Judgement | null {
  const slice = text.slice(frame.dataStart, text.length - frame.dataTail);
  if (nestsTooDeep(slice, DEEPEST_NESTING - 1)) return judgeText(text, bigint);
  const numbers = inspectNumbers(slice);
  if (numbers === "nonFinite") return null;
  let data: JsonObject;
  try {
    data =
      (bigint && numbers === "inexact" ? parseExactly(slice) : JSON.parse(slice)) as JsonObject;
  } catch {
    return null;
  }
  return {
    route: routeOfFrame(frame),
    verdict: new CanonicalVerdict(frame, data, numbers === "inexact"),
    readable: true,
  };
}

/** Whether the containers of a text nest deeper than `room`; false on text that is no JSON. */
function nestsTooDeep(text: string, room: number): boolean {
  // Counting is much the cheaper test, and few bodies hold that many containers.
  let left = room;
  for (const brace of ["{", "["]) {
    for (let at = text.indexOf(brace); at >= 0; at = text.indexOf(brace, at + 1)) {
      if (--left < 0) return endOfContainer(text, 0, room) === TOO_DEEP;
    }
  }
  return false;
}

/** Judges a body of any shape. */
function judgeText(text: string, bigint: boolean): Judgement {
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
  const route = routeOfLayout(text, root);
  let cause = illTyped(text, root);
  let numbers: NumberFinding = "plain";
  if (cause === null) {
    numbers = inspectData(text, root, bigint, parsed);
    if (numbers === "nonFinite") cause = NOT_FINITE;
  }
  const verdict = cause !== null ? "poison" : route.urn === "" ? "no_identity" : "ok";
  return {
    route,
    verdict: new FullVerdict(
      verdict,
      cause ?? (verdict === "ok" ? "" : NO_IDENTITY),
      parsed,
      numbers === "inexact",
    ),
    readable: true,
  };
}

/** Looks at the numbers of every `data`, and makes those of the last one exact where that is asked for. */
function inspectData(
  text: string,
  root: ObjectSpan,
  bigint: boolean,
  parsed: Record<string, unknown>,
): NumberFinding {
  let finding: NumberFinding = "plain";
  let last = "";
  for (const member of root.members) {
    if (member.name !== "data") continue;
    last = text.slice(member.valueStart, member.valueEnd);
    finding = inspectNumbers(last);
    if (finding === "nonFinite") return finding;
  }
  if (bigint && finding === "inexact") parsed["data"] = parseExactly(last);
  return finding;
}

function isNull(text: string): boolean {
  return /^[ \t\n\r]*null[ \t\n\r]*$/.test(text);
}

function unreadable(verdict: "poison" | "no_identity", cause: string): Judgement {
  return {
    route: NO_ROUTE,
    verdict: new FullVerdict(verdict, cause, {}, false),
    readable: false,
  };
}

/** The verdict on a canonical envelope, which is `ok` and complete. */
class CanonicalVerdict implements BodyVerdict {
  readonly verdict = "ok";
  readonly cause = "";
  readonly data: JsonObject;
  readonly envelopeAttempts: number;
  readonly missing: readonly string[] = NONE;
  readonly versionSupported = true;
  readonly inexactIntegers: boolean;
  readonly warnings: readonly EnvelopeWarning[] = NONE;
  readonly canonical = true;
  readonly #frame: Frame;
  #meta: JsonObject | undefined;

  constructor(frame: Frame, data: JsonObject, inexactIntegers: boolean) {
    this.data = data;
    this.envelopeAttempts = frame.attempts;
    this.inexactIntegers = inexactIntegers;
    this.#frame = frame;
  }

  get meta(): JsonObject {
    const { id, queue, lang, createdAt } = this.#frame;
    return this.#meta ??= {
      id,
      queue,
      lang,
      schema_version: SCHEMA_VERSION,
      created_at: createdAt,
    };
  }

  envelope(): IncomingEnvelope {
    const { job, traceId, attempts } = this.#frame;
    return { job, trace_id: traceId, data: this.data, meta: this.meta, attempts };
  }
}

/** The verdict on a body of any other shape. */
class FullVerdict implements BodyVerdict {
  readonly verdict: "ok" | "no_identity" | "poison";
  readonly cause: string;
  readonly data: JsonObject | null;
  readonly meta: JsonObject;
  readonly envelopeAttempts: number;
  readonly missing: readonly string[];
  readonly versionSupported: boolean;
  readonly inexactIntegers: boolean;
  readonly warnings: readonly EnvelopeWarning[];
  readonly canonical = false;
  readonly #envelope: IncomingEnvelope;

  constructor(
    verdict: "ok" | "no_identity" | "poison",
    cause: string,
    parsed: IncomingEnvelope,
    inexactIntegers: boolean,
  ) {
    const { envelope, warnings } = fold(parsed);
    const data = own(envelope, "data");
    const meta = own(envelope, "meta");
    const attempts = own(envelope, "attempts");
    const version = own(meta, "schema_version") ?? null;
    this.verdict = verdict;
    this.cause = cause;
    this.data = isObject(data) ? data as JsonObject : null;
    this.meta = isObject(meta) ? meta as JsonObject : {};
    this.envelopeAttempts = typeof attempts === "number" ? attempts : 0;
    this.missing = missingOf(envelope);
    this.versionSupported = version === null || version === SCHEMA_VERSION;
    this.inexactIntegers = inexactIntegers;
    this.warnings = warnings;
    this.#envelope = envelope;
  }

  envelope(): IncomingEnvelope {
    return this.#envelope;
  }
}

/** What a complete envelope holds and this one does not. Contract: C48. */
function missingOf(envelope: IncomingEnvelope): readonly string[] {
  const missing: string[] = [];
  if (!isIdentity(own(envelope, "trace_id"))) missing.push("trace_id");
  for (const name of ["data", "meta", "attempts"]) {
    if ((own(envelope, name) ?? null) === null) missing.push(name);
  }
  const meta = own(envelope, "meta");
  if (isObject(meta) && (own(meta, "schema_version") ?? null) === null) {
    missing.push("meta.schema_version");
  }
  return missing.length === 0 ? NONE : missing;
}

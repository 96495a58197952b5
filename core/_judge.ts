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
import { illTyped, lastMember, layoutOf } from "./_layout.ts";
import { holdsLongInteger, mayHoldLongInteger, overflows, parseExactly } from "./_numbers.ts";
import { NO_ROUTE, type Route, routeOfEnvelope, routeOfLayout } from "./_route.ts";
import { endOfContainer, type ObjectSpan, skipSpace, TOO_DEEP } from "./_scan.ts";
import { decodeUtf8 } from "./_text.ts";

const NOT_FINITE = "data holds a number that is no finite double";
const NOT_JSON = "the body is no valid JSON";
const NO_IDENTITY = "neither job nor urn is a string that is not blank";

const NONE: readonly never[] = Object.freeze([]);

/** A verdict, and what only the codec asks. */
export interface Judgement extends BodyVerdict {
  /** The routing fields. */
  readonly route: Route;
  /** Whether the body is a JSON object at all. */
  readonly readable: boolean;
}

/** Judges a body. */
export function judge(body: Uint8Array | string, bigint: boolean): Judgement {
  const text = textOf(body);
  if (text === null) return unreadable("poison", "the body is not valid UTF-8");
  const frame = frameOfText(text);
  return (frame && judgeFrame(body, text, frame, bigint)) ?? judgeText(body, text, bigint);
}

/** The text of a body, or null when it has none. */
function textOf(body: Uint8Array | string): string | null {
  if (typeof body !== "string") return decodeUtf8(body);
  // An unpaired surrogate has no UTF-8 form, so a text that holds one was never a body.
  return body.isWellFormed() ? body : null;
}

/** Judges a canonical envelope; null when something hides in it that needs the long way. */
function judgeFrame(
  body: Uint8Array | string,
  text: string,
  frame: Frame,
  bigint: boolean,
): Judgement | null {
  const slice = text.slice(frame.dataStart, text.length - frame.dataTail);
  if (nestsTooDeep(slice, DEEPEST_NESTING - 1) || overflows(slice)) return null;
  try {
    const data = bigint && mayHoldLongInteger(body) ? parseExactly(slice) : JSON.parse(slice);
    return new CanonicalVerdict(body, frame, data as JsonObject);
  } catch {
    return null;
  }
}

/** Whether the containers of a text nest deeper than `room`; false on text that is no JSON. */
function nestsTooDeep(text: string, room: number): boolean {
  // Each takes two characters. Counting is much the cheaper test, and few bodies hold that many.
  if (text.length < 2 * room) return false;
  let left = room;
  for (const brace of ["{", "["]) {
    for (let at = text.indexOf(brace); at >= 0; at = text.indexOf(brace, at + 1)) {
      if (--left < 0) return endOfContainer(text, 0, room) === TOO_DEEP;
    }
  }
  return false;
}

/** Judges a body of any shape. */
function judgeText(body: Uint8Array | string, text: string, bigint: boolean): Judgement {
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
  const cause = illTyped(text, root) ?? (dataOverflows(text, root) ? NOT_FINITE : null);
  const route = cause === null ? routeOfEnvelope(parsed) : routeOfLayout(text, root);
  const data = lastMember(root, "data");
  let inexact = false;
  if (cause === null && data !== undefined && mayHoldLongInteger(body)) {
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

/** The verdict on a canonical envelope, which is `ok` and complete. */
class CanonicalVerdict implements Judgement {
  readonly data: JsonObject;
  readonly route: Frame;
  readonly #body: Uint8Array | string;
  #meta: JsonObject | undefined;
  #inexactIntegers: boolean | undefined;

  constructor(body: Uint8Array | string, frame: Frame, data: JsonObject) {
    this.data = data;
    this.route = frame;
    this.#body = body;
  }

  get verdict(): "ok" {
    return "ok";
  }

  get cause(): string {
    return "";
  }

  get missing(): readonly string[] {
    return NONE;
  }

  get versionSupported(): boolean {
    return true;
  }

  get warnings(): readonly EnvelopeWarning[] {
    return NONE;
  }

  get canonical(): boolean {
    return true;
  }

  get readable(): boolean {
    return true;
  }

  get envelopeAttempts(): number {
    return this.route.envelopeAttempts;
  }

  get meta(): JsonObject {
    const { messageId, queue, lang, createdAt } = this.route;
    return this.#meta ??= {
      id: messageId,
      queue,
      lang,
      schema_version: SCHEMA_VERSION,
      created_at: createdAt,
    };
  }

  get inexactIntegers(): boolean {
    return this.#inexactIntegers ??= mayHoldLongInteger(this.#body) &&
      holdsLongInteger(this.#dataText());
  }

  envelope(): IncomingEnvelope {
    const { urn, traceId, envelopeAttempts } = this.route;
    return {
      job: urn,
      trace_id: traceId,
      data: this.data,
      meta: this.meta,
      attempts: envelopeAttempts,
    };
  }

  #dataText(): string {
    const text = textOf(this.#body) ?? "";
    return text.slice(this.route.dataStart, text.length - this.route.dataTail);
  }
}

/** What a {@linkcode FullVerdict} is made of. */
interface Findings {
  readonly verdict: "ok" | "no_identity" | "poison";
  readonly cause: string;
  readonly parsed: IncomingEnvelope;
  readonly route: Route;
  readonly inexactIntegers: boolean;
  readonly readable: boolean;
}

/** The verdict on a body of any other shape. */
class FullVerdict implements Judgement {
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
  readonly route: Route;
  readonly readable: boolean;
  readonly #envelope: IncomingEnvelope;

  constructor(findings: Findings) {
    const { envelope, warnings } = fold(findings.parsed);
    const data = own(envelope, "data");
    const meta = own(envelope, "meta");
    const attempts = own(envelope, "attempts");
    const version = own(meta, "schema_version") ?? null;
    this.verdict = findings.verdict;
    this.cause = findings.cause;
    this.data = isObject(data) ? data as JsonObject : null;
    this.meta = isObject(meta) ? meta as JsonObject : {};
    this.envelopeAttempts = typeof attempts === "number" ? attempts : 0;
    this.missing = missingOf(envelope);
    this.versionSupported = version === null || version === SCHEMA_VERSION;
    this.inexactIntegers = findings.inexactIntegers;
    this.warnings = warnings;
    this.route = findings.route;
    this.readable = findings.readable;
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

/**
 * The two forms of a verdict: on a canonical envelope, where nearly everything is known beforehand,
 * and on a body of any other shape.
 *
 * @module
 */

import { SCHEMA_VERSION } from "./_contract.ts";
import type { EnvelopeWarning, IncomingEnvelope, JsonObject } from "./envelope.ts";
import { fold, isIdentity, isObject, own } from "./_fold.ts";
import type { Frame } from "./_frame.ts";
import { holdsLongInteger, mayHoldLongInteger } from "./_numbers.ts";
import type { BodyVerdict } from "./reading.ts";
import type { Route } from "./_route.ts";
import { textOf } from "./_text.ts";

const NONE: readonly never[] = /* @__PURE__ */ Object.freeze([]);

/** A verdict, and what only the codec asks. */
export interface Judgement extends BodyVerdict {
  /** The routing fields. */
  readonly route: Route;
  /** Whether the body is a JSON object at all. */
  readonly readable: boolean;
}

/** The verdict on a canonical envelope, which is `ok` and complete. */
export class CanonicalVerdict implements Judgement {
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
export interface Findings {
  readonly verdict: "ok" | "no_identity" | "poison";
  readonly cause: string;
  readonly parsed: IncomingEnvelope;
  readonly route: Route;
  readonly inexactIntegers: boolean;
  readonly readable: boolean;
}

/** The verdict on a body of any other shape. */
export class FullVerdict implements Judgement {
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

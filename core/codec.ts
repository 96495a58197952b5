/**
 * The codec: makes, encodes, decodes and judges envelopes as values.
 *
 * @module
 */

import { isBlank } from "./blank.ts";
import { systemClock } from "./clock.ts";
import { FORBIDDEN_META, SCHEMA_VERSION, SOURCE_LANG } from "./_contract.ts";
import type { Envelope, EnvelopeWarning, IncomingEnvelope, JsonObject } from "./envelope.ts";
import { BabelQueueError, EnvelopeKeyError } from "./errors.ts";
import { identityOf, isObject, own } from "./_fold.ts";
import { resolved, toJson } from "./_json.ts";
import { judge } from "./_judge.ts";
import { dataOf, extensionsOf, jobOf, queueOf, traceIdOf } from "./_make.ts";
import type { PolyglotMessage } from "./polyglot_message.ts";
import type { BodyVerdict } from "./reading.ts";
import { encodeUtf8 } from "./_text.ts";
import { attempt } from "./thrown.ts";
import { uuid } from "./uuid.ts";

export { SCHEMA_VERSION, SOURCE_LANG };

/** Why an envelope is not accepted, in the order in which it is looked at. Contract: C41. */
export type RejectReason =
  | "missing_urn"
  | "missing_meta"
  | "unsupported_schema_version"
  | "invalid_data"
  | "missing_trace_id"
  | "invalid_attempts";

/** Options of {@linkcode Codec.make}. */
export interface MakeOptions {
  /**
   * Queue that the message is for.
   *
   * @default {"default"}
   */
  readonly queue?: string | undefined;
  /**
   * Id of the causal chain to continue; blanks around it go, a blank one is none.
   *
   * @default {a new UUID}
   */
  readonly traceId?: string | null | undefined;
  /**
   * Extension members of `meta`, for instance `{ ext: { acme: { tenant: 7 } } }`. Contract: C51.
   *
   * @default {undefined}
   */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Now, in Unix milliseconds.
   *
   * @default {the system's clock}
   */
  readonly now?: number | undefined;
  /**
   * Makes `meta.id` and, where none is given, the trace id.
   *
   * @default {crypto.randomUUID}
   */
  readonly newId?: (() => string) | undefined;
}

/** Options of {@linkcode Codec.decode} and {@linkcode Codec.decodeLenient}. */
export interface DecodeOptions {
  /**
   * Called once for each member that was removed or ignored; what it throws is passed on. Contract: C33.
   *
   * @default {undefined}
   */
  readonly onWarning?: ((warning: EnvelopeWarning) => void) | undefined;
  /**
   * Gives integers beyond 2^53 inside `data` as `bigint`.
   *
   * @default {false}
   */
  readonly bigint?: boolean | undefined;
}

/** The functions of {@linkcode EnvelopeCodec}. Contract: C98. */
export interface Codec {
  /** Version of the envelope. */
  readonly SCHEMA_VERSION: typeof SCHEMA_VERSION;
  /** What this library writes as `lang`. */
  readonly SOURCE_LANG: typeof SOURCE_LANG;
  /**
   * Makes a new envelope. The top level of `data` is copied. Contract: C89–C94.
   *
   * @param urn The URN; blanks around it go.
   * @param data The payload; null and undefined are an empty object.
   * @param options Queue, trace id, extensions.
   * @returns The envelope, members in canonical order.
   * @throws {BabelQueueError} `invalid_envelope` for an empty URN and for a queue or a trace id that
   * is no string, `invalid_data` for data or extensions that JSON cannot carry.
   * @throws {EnvelopeKeyError} for an extension named like a member of the contract.
   */
  make(urn: string, data: object | null | undefined, options?: MakeOptions): Envelope;
  /**
   * Makes a new envelope of a message that knows its own URN. Contract: C96.
   *
   * @param message The message.
   * @param queue Queue that the message is for.
   * @returns The envelope.
   * @throws {BabelQueueError} as `make`, and `invalid_envelope` for what is no such message.
   */
  fromMessage(message: PolyglotMessage, queue?: string): Envelope;
  /**
   * Writes an envelope as compact JSON. Contract: C12–C14, C20.
   *
   * @param envelope The envelope.
   * @returns The text.
   * @throws {EnvelopeKeyError} for a forbidden member or `urn`.
   * @throws {BabelQueueError} `invalid_data` for what JSON cannot carry.
   */
  encode(envelope: IncomingEnvelope): string;
  /** As `encode`, in UTF-8. */
  encodeBytes(envelope: IncomingEnvelope): Uint8Array<ArrayBuffer>;
  /**
   * Parses a body, folds `urn` into `job` and removes forbidden members. Contract: C24–C32.
   *
   * @param body The body, bytes or text.
   * @param options Where warnings go.
   * @returns The envelope; empty when the body is no JSON object.
   * @throws {BabelQueueError} `invalid_envelope` when the object has no identity.
   */
  decode(body: Uint8Array | string, options?: DecodeOptions): IncomingEnvelope;
  /** As `decode`, but no body makes it throw: an object without an identity comes back as it is. */
  decodeLenient(body: Uint8Array | string, options?: DecodeOptions): IncomingEnvelope;
  /**
   * The identity of an envelope: a valid `job`, else a valid `urn`, else empty. Contract: C99.
   *
   * @param envelope The envelope; anything, and nothing makes this throw.
   */
  urn(envelope: unknown): string;
  /**
   * Whether an envelope is complete and of this version. Contract: C38.
   *
   * @param envelope The envelope; anything, and nothing makes this throw.
   */
  accepts(envelope: unknown): boolean;
  /**
   * Why an envelope is not accepted; null when it is. Contract: C41.
   *
   * @param envelope The envelope; anything, and nothing makes this throw.
   */
  reject(envelope: unknown): RejectReason | null;
}

/**
 * The codec of the wire envelope.
 *
 * @example Make, encode, decode
 * ```ts
 * import { EnvelopeCodec } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const made = EnvelopeCodec.make("urn:babel:orders:created", { id: 7 }, { queue: "orders" });
 * const decoded = EnvelopeCodec.decode(EnvelopeCodec.encode(made));
 * assert.equal(EnvelopeCodec.urn(decoded), "urn:babel:orders:created");
 * assert(EnvelopeCodec.accepts(decoded));
 * assert.deepEqual(decoded, made);
 * ```
 */
export const EnvelopeCodec: Codec = Object.freeze({
  SCHEMA_VERSION,
  SOURCE_LANG,
  make,
  fromMessage,
  encode,
  encodeBytes: (envelope: IncomingEnvelope): Uint8Array<ArrayBuffer> =>
    encodeUtf8(encode(envelope)),
  decode,
  decodeLenient,
  urn: (envelope: unknown): string => attempt(() => identityOf(envelope)) ?? "",
  accepts: (envelope: unknown): boolean => reject(envelope) === null,
  reject,
});

function make(
  urn: string,
  data: object | null | undefined,
  options: MakeOptions = {},
): Envelope {
  const newId = options.newId ?? uuid;
  const job = jobOf(urn);
  const extensions = options.meta && extensionsOf(options.meta);
  if (extensions) toJson(extensions, "/meta");
  const payload = dataOf(data);
  toJson(payload, "/data");
  const trace_id = traceIdOf(options.traceId, newId);
  return {
    job,
    trace_id,
    data: { ...payload } as JsonObject,
    meta: {
      id: newId(),
      queue: queueOf(options.queue),
      lang: SOURCE_LANG,
      schema_version: SCHEMA_VERSION,
      created_at: Math.trunc(options.now ?? systemClock.now()),
      ...extensions,
    },
    attempts: 0,
  };
}

function fromMessage(message: PolyglotMessage, queue?: string): Envelope {
  if (typeof message?.getBabelUrn !== "function" || typeof message.toPayload !== "function") {
    throw new BabelQueueError(
      "invalid_envelope",
      "Cannot make an envelope: the message has no getBabelUrn() or no toPayload()",
    );
  }
  return make(message.getBabelUrn(), message.toPayload(), {
    queue,
    traceId: message.getBabelTraceId?.(),
  });
}

/** What may never be written, in the order in which it is reported. Contract: C22. */
const FORBIDDEN: readonly (readonly string[])[] = [
  ["timestamp"],
  ...FORBIDDEN_META.map((name) => ["meta", name]),
  ["urn"],
];

function encode(given: IncomingEnvelope): string {
  const envelope = written(given);
  for (const [outer = "", inner] of FORBIDDEN) {
    const holder = inner === undefined ? envelope : own(envelope, outer);
    if (isObject(holder) && Object.hasOwn(holder, inner ?? outer)) {
      const pointer = inner === undefined ? `/${outer}` : `/${outer}/${inner}`;
      throw new EnvelopeKeyError(pointer, `Cannot encode ${pointer}: the member is forbidden`);
    }
  }
  return toJson(envelope, "") ?? "{}";
}

/** The envelope as `JSON.stringify` sees it, so that no `toJSON` writes what may not be written. */
function written(given: unknown): Record<string, unknown> {
  const envelope = isObject(given) ? resolved(given, "", "") : given;
  if (!isObject(envelope)) {
    throw new BabelQueueError("invalid_envelope", "Cannot encode an envelope: it is no object");
  }
  const meta = own(envelope, "meta");
  const writtenMeta = resolved(meta, "meta", "/meta");
  return writtenMeta === meta ? envelope : { ...envelope, meta: writtenMeta };
}

function decode(body: Uint8Array | string, options: DecodeOptions = {}): IncomingEnvelope {
  const judgement = judge(body, { bigint: options.bigint === true });
  const envelope = told(judgement, options);
  if (judgement.readable && identityOf(envelope) === "") {
    throw new BabelQueueError(
      "invalid_envelope",
      "Cannot decode an envelope: neither job nor urn is a string that is not blank",
    );
  }
  return envelope;
}

function decodeLenient(
  body: Uint8Array | string,
  options: DecodeOptions = {},
): IncomingEnvelope {
  return told(judge(body, { bigint: options.bigint === true }), options);
}

function told(verdict: BodyVerdict, { onWarning }: DecodeOptions): IncomingEnvelope {
  for (const warning of verdict.warnings) onWarning?.(warning);
  return verdict.envelope();
}

function reject(envelope: unknown): RejectReason | null {
  const reason = attempt(() => reasonAgainst(envelope));
  // What cannot even be looked at, such as a getter that throws, has no identity to go by.
  return reason === undefined ? "missing_urn" : reason;
}

function reasonAgainst(envelope: unknown): RejectReason | null {
  if (identityOf(envelope) === "") return "missing_urn";
  const meta = own(envelope, "meta");
  if (!isObject(meta)) return "missing_meta";
  if (own(meta, "schema_version") !== SCHEMA_VERSION) return "unsupported_schema_version";
  if (!isObject(own(envelope, "data"))) return "invalid_data";
  const traceId = own(envelope, "trace_id");
  if (typeof traceId !== "string" || isBlank(traceId)) return "missing_trace_id";
  return Number.isInteger(own(envelope, "attempts")) ? null : "invalid_attempts";
}

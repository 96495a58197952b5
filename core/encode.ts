/**
 * Makes and encodes a new message in one step, the way of a publish.
 *
 * @module
 */

import { checkExtensions, dataOf, jobOf, queueOf, traceIdOf } from "./_make.ts";
import { SCHEMA_VERSION, SOURCE_LANG } from "./_contract.ts";
import { toJson } from "./_json.ts";
import { encodeUtf8 } from "./_text.ts";
import { uuid } from "./uuid.ts";

/** What a new message is made of, beside its URN and its data. */
export interface EncodeNewOptions {
  /** Queue that the message is published to. */
  readonly queue: string;
  /** Now, in Unix milliseconds. */
  readonly nowMs: number;
  /**
   * Id of the causal chain to continue.
   *
   * @default {a new UUID}
   */
  readonly traceId?: string | null | undefined;
  /**
   * Extension members of `meta`.
   *
   * @default {undefined}
   */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Makes `meta.id` and, where none is given, the trace id.
   *
   * @default {crypto.randomUUID}
   */
  readonly newId?: (() => string) | undefined;
}

/** A new message, encoded. */
export interface EncodedMessage {
  /** The body. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** The body as a text. */
  readonly text: string;
  /** `meta.id`. */
  readonly id: string;
  /** `trace_id`. */
  readonly traceId: string;
}

/**
 * Encodes a new message. The bytes are those of `EnvelopeCodec.encode(EnvelopeCodec.make(…))` with the
 * same ids and time. Contract: C2, C3, C12–C14, C89–C94.
 *
 * @param urn The URN; blanks around it go.
 * @param data The payload; null and undefined are an empty object.
 * @param options Queue, time, trace id, extensions.
 * @returns The body and the ids.
 * @throws {BabelQueueError} `invalid_envelope` for an empty URN, `invalid_data` for data that JSON cannot carry.
 * @throws {EnvelopeKeyError} for an extension named like a member of the contract.
 */
export function encodeNew(
  urn: string,
  data: object | null | undefined,
  options: EncodeNewOptions,
): EncodedMessage {
  const { text, id, traceId } = encodeNewText(urn, data, options);
  return { body: encodeUtf8(text), text, id, traceId };
}

/** As {@linkcode encodeNew}, without the bytes. */
export function encodeNewText(
  urn: string,
  data: object | null | undefined,
  options: EncodeNewOptions,
): Omit<EncodedMessage, "body"> {
  const { queue, traceId: given, meta, newId } = options;
  const job = lastJob.of(urn);
  const target = lastQueue.of(queue);
  const extension = meta ? extensionText(meta) : "";
  const payload = toJson(dataOf(data), "/data");
  const traceId = traceIdOf(given, newId ?? uuid);
  const id = (newId ?? uuid)();
  // A UUID needs no escape.
  const isUuid = newId === undefined;
  const trace = isUuid && !given ? `"${traceId}"` : JSON.stringify(traceId);
  const text = `{"job":${job},"trace_id":${trace},"data":${payload}` +
    `,"meta":{"id":${isUuid ? `"${id}"` : JSON.stringify(id)},"queue":${target}${META_MIDDLE}` +
    `${Math.trunc(options.nowMs)}${extension}},"attempts":0}`;
  return { text, id, traceId };
}

const META_MIDDLE = `,"lang":"${SOURCE_LANG}","schema_version":${SCHEMA_VERSION},"created_at":`;

/** Remembers the last text it made: a publisher mostly writes the same URN to the same queue. */
class LastQuoted {
  #given: string | undefined;
  #quoted = "";
  readonly #prepare: (given: string) => string;

  constructor(prepare: (given: string) => string) {
    this.#prepare = prepare;
  }

  of(given: string): string {
    if (given !== this.#given) {
      this.#quoted = JSON.stringify(this.#prepare(given));
      this.#given = given;
    }
    return this.#quoted;
  }
}

const lastJob = /* @__PURE__ */ new LastQuoted(jobOf);
const lastQueue = /* @__PURE__ */ new LastQuoted(queueOf);

/** The extension members as they follow the core ones. Contract: C51. */
function extensionText(meta: Readonly<Record<string, unknown>>): string {
  checkExtensions(meta);
  const text = toJson({ ...meta }, "/meta") ?? "{}";
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

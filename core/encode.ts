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
  const { traceId: given, meta, newId = uuid } = options;
  const head = lastHead.of(urn);
  const middle = lastMiddle.of(options.queue);
  const extension = meta ? extensionText(meta) : "";
  const payload = toJson(dataOf(data), "/data");
  const traceId = traceIdOf(given, newId);
  const id = newId();
  // A UUID needs no escape.
  const trace = given || newId !== uuid ? escaped(traceId) : traceId;
  const own = newId === uuid ? id : escaped(id);
  const createdAt = Math.trunc(options.nowMs);
  const text = `${head}${trace}","data":${payload},"meta":{"id":"${own}${middle}${createdAt}` +
    `${extension}},"attempts":0}`;
  return { text, id, traceId };
}

/** A string as it stands between its quotes. */
function escaped(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

/** Remembers the last text it made: a publisher mostly writes the same URN to the same queue. */
class LastText {
  #given: string | null = null;
  #text = "";
  readonly #make: (given: string) => string;

  constructor(make: (given: string) => string) {
    this.#make = make;
  }

  of(given: string): string {
    if (given !== this.#given) {
      this.#text = this.#make(given);
      this.#given = given;
    }
    return this.#text;
  }
}

const lastHead = /* @__PURE__ */ new LastText((urn) =>
  `{"job":${JSON.stringify(jobOf(urn))},"trace_id":"`
);
const lastMiddle = /* @__PURE__ */ new LastText((queue) =>
  `","queue":${JSON.stringify(queueOf(queue))},"lang":"${SOURCE_LANG}"` +
  `,"schema_version":${SCHEMA_VERSION},"created_at":`
);

/** The extension members as they follow the core ones. Contract: C51. */
function extensionText(meta: Readonly<Record<string, unknown>>): string {
  checkExtensions(meta);
  const text = toJson({ ...meta }, "/meta") ?? "{}";
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

/**
 * Makes and encodes a new message in one step, the way of a publish.
 *
 * @module
 */

import { dataOf, extensionsOf, jobOf, queueOf, traceIdOf } from "./_make.ts";
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
  /**
   * What the caller remembers from one message to the next.
   *
   * @default {undefined}
   */
  readonly memo?: EncodeMemo | undefined;
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
 * same ids and time, but for extensions with names like `"1"`: an object of JavaScript has them before
 * its other members, and here they stand behind the core ones. Contract: C2, C3, C12–C14, C89–C94.
 *
 * @param urn The URN; blanks around it go.
 * @param data The payload; null and undefined are an empty object.
 * @param options Queue, time, trace id, extensions.
 * @returns The body and the ids.
 * @throws {BabelQueueError} `invalid_envelope` for an empty URN and for a queue or a trace id that is
 * no string, `invalid_data` for data that JSON cannot carry.
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
  const { traceId: given, meta, newId = uuid, memo } = options;
  const head = memo ? memo.head.of(urn) : headOf(urn);
  const middle = memo ? memo.middle.of(options.queue) : middleOf(options.queue);
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

/** Up to the trace id. */
function headOf(urn: string): string {
  return `{"job":${JSON.stringify(jobOf(urn))},"trace_id":"`;
}

/** From the message's id to its time. */
function middleOf(queue: string): string {
  return `","queue":${JSON.stringify(queueOf(queue))},"lang":"${SOURCE_LANG}"` +
    `,"schema_version":${SCHEMA_VERSION},"created_at":`;
}

/** The parts of the last message: a publisher mostly writes the same URN to the same queue. */
export class EncodeMemo {
  /** Text for the last URN. */
  readonly head: LastText = new LastText(headOf);
  /** Text for the last queue. */
  readonly middle: LastText = new LastText(middleOf);
}

/** Remembers the last text it made. */
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

/** The extension members as they follow the core ones. Contract: C51. */
function extensionText(meta: Readonly<Record<string, unknown>>): string {
  const text = toJson(extensionsOf(meta), "/meta") ?? "{}";
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

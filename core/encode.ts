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
  const newId = options.newId ?? uuid;
  const job = JSON.stringify(jobOf(urn));
  const queue = JSON.stringify(queueOf(options.queue));
  const extension = options.meta ? extensionText(options.meta) : "";
  const payload = toJson(dataOf(data), "/data");
  const traceId = traceIdOf(options.traceId, newId);
  const id = newId();
  const text = `{"job":${job},"trace_id":${JSON.stringify(traceId)},"data":${payload}` +
    `,"meta":{"id":${JSON.stringify(id)},"queue":${queue},"lang":"${SOURCE_LANG}"` +
    `,"schema_version":${SCHEMA_VERSION},"created_at":${Math.trunc(options.nowMs)}${extension}}` +
    `,"attempts":0}`;
  return { body: encodeUtf8(text), text, id, traceId };
}

/** The extension members as they follow the core ones. Contract: C51. */
function extensionText(meta: Readonly<Record<string, unknown>>): string {
  checkExtensions(meta);
  const text = toJson({ ...meta }, "/meta") ?? "{}";
  return text === "{}" ? "" : `,${text.slice(1, -1)}`;
}

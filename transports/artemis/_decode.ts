/**
 * Reads messages as they came: the client decodes them inside its own reading, where one that it
 * cannot decode ends the connection, and leaves out of what type a value was.
 */

import { Attached } from "@bq/core/transport";
import type { AmqpContext, AmqpMap, AmqpMessage, AmqpSession } from "./_amqp.ts";

/** What a client's container encodes and decodes with. */
export interface Codec {
  readonly message: {
    decode(bytes: Uint8Array): AmqpMessage;
    /** Bytes as a body; without it the client would take them for a value. */
    data_section(bytes: Uint8Array): unknown;
  };
  readonly types: { readonly Reader: new (bytes: Uint8Array) => Reader };
}

interface Reader {
  remaining(): number;
  read(): Typed;
}

/** A value with its type; the client writes it back as that. */
interface Typed {
  readonly value: unknown;
  readonly descriptor?: { readonly value: unknown };
}

/** What a copy takes over of a message, each value of the type that it came as. */
export interface TypedParts {
  readonly annotations: AmqpMap;
  readonly properties: AmqpMap;
  readonly messageId: unknown;
  readonly correlationId: unknown;
}

type Section = "annotations" | "properties" | "identity";

const SECTIONS: ReadonlyMap<unknown, Section> = new Map<unknown, Section>([
  [0x72, "annotations"],
  ["amqp:message-annotations:map", "annotations"],
  [0x73, "identity"],
  ["amqp:properties:list", "identity"],
  [0x74, "properties"],
  ["amqp:application-properties:map", "properties"],
]);
/** Sections of and behind the body. */
const BODY: ReadonlySet<unknown> = new Set([0x75, 0x76, 0x77, 0x78]);
const MESSAGE_ID = 0;
const CORRELATION_ID = 5;
const LARGEST_FORMAT = 0xffff_ffff;

const SOURCES: Attached<AmqpMessage, { readonly bytes: Uint8Array; readonly codec: Codec }> =
  new Attached();

/**
 * Lets a session hand on its messages undecoded, as the client does with every format but 0.
 *
 * @param session The session, before anything came on it.
 */
export function withoutDecoding(session: AmqpSession): void {
  const onTransfer = session.on_transfer.bind(session);
  session.on_transfer = (frame): void => {
    const { performative } = frame;
    const { message_format } = performative;
    if (typeof message_format === "number") {
      performative.message_format = Math.min(message_format + 1, LARGEST_FORMAT);
    }
    onTransfer(frame);
  };
}

/**
 * Decodes what such a session hands on. It never throws: what cannot be decoded, or is of a format
 * that nobody knows, is its bytes.
 *
 * @param context What the client tells.
 * @param codec Decodes it.
 * @returns The message.
 */
export function decoded({ message, format = 1 }: AmqpContext, codec: Codec): AmqpMessage {
  if (!(message instanceof Uint8Array)) return message ?? {};
  if (format !== 1) return { body: message, undecodable: true };
  try {
    const read = codec.message.decode(message);
    SOURCES.set(read, { bytes: message, codec });
    return read;
  } catch {
    return { body: message, undecodable: true };
  }
}

/**
 * Gives what a copy takes over. It is read anew from the bytes, so that only copies cost that.
 *
 * @param message A message that came.
 * @returns Its values with their types, or without when its bytes are not known.
 */
export function typedParts(message: AmqpMessage): TypedParts {
  const source = SOURCES.get(message);
  if (source === undefined) return untyped(message);
  const found: Partial<Record<Section, readonly Typed[]>> = {};
  const reader = new source.codec.types.Reader(source.bytes);
  while (reader.remaining() > 0) {
    const { descriptor, value } = reader.read();
    if (BODY.has(descriptor?.value)) break;
    const section = SECTIONS.get(descriptor?.value);
    if (section !== undefined) found[section] = value as readonly Typed[];
  }
  return {
    annotations: mapOf(found.annotations),
    properties: mapOf(found.properties),
    messageId: given(found.identity?.[MESSAGE_ID]),
    correlationId: given(found.identity?.[CORRELATION_ID]),
  };
}

function untyped(message: AmqpMessage): TypedParts {
  const { message_annotations = {}, application_properties = {} } = message;
  const { message_id, correlation_id } = message;
  return {
    annotations: message_annotations,
    properties: application_properties,
    messageId: isWritableId(message_id) ? message_id : undefined,
    correlationId: isWritableId(correlation_id) ? correlation_id : undefined,
  };
}

/** Ids that the client writes as it read them: it takes other bytes for a UUID. */
function isWritableId(id: unknown): boolean {
  return typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id)) ||
    (id instanceof Uint8Array && id.length === 16);
}

/** Keys and values follow each other. */
function mapOf(items: readonly Typed[] = []): AmqpMap {
  const entries: [string, Typed][] = [];
  for (let at = 0; at + 1 < items.length; at += 2) {
    entries.push([String(items[at]!.value), items[at + 1]!]);
  }
  return Object.fromEntries(entries);
}

function given(value: Typed | undefined): Typed | undefined {
  return value?.value === null || value?.value === undefined ? undefined : value;
}

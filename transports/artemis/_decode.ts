/**
 * Reads messages as they came: the client decodes them inside its own reading, where one that it
 * cannot decode ends the connection, and leaves out of what type a value was.
 */

import { Buffer } from "node:buffer";
import type { AmqpContext, AmqpMap, AmqpMessage, AmqpSession } from "./_amqp.ts";
import { bodyOf, type ReadBody } from "./_body.ts";
import { isReadable } from "./_bounds.ts";
import { skim, type Skimmed } from "./_skim.ts";

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
 * A message that such a session handed on. Reading it never throws: what cannot be decoded, or is of a
 * format that nobody knows, has all of its bytes as its body.
 */
export class Received {
  /** Its body, and whether that is of a kind that carries no envelope. */
  readonly body: ReadBody;
  readonly #bytes: Buffer | undefined;
  readonly #codec: Codec;
  readonly #skimmed: Skimmed | undefined;
  #message: AmqpMessage | undefined;

  /**
   * @param context What the client tells.
   * @param codec Decodes it.
   */
  constructor({ message, format = 1 }: AmqpContext, codec: Codec) {
    this.#codec = codec;
    if (!(message instanceof Uint8Array)) this.#message = message ?? {};
    else if (format !== 1) this.#message = { body: message, undecodable: true };
    else {
      this.#bytes = Buffer.isBuffer(message) ? message : Buffer.from(message);
      this.#skimmed = skim(this.#bytes);
    }
    this.body = this.#skimmed
      ? { body: this.#skimmed.body, undecodable: false }
      : this.#decodedBody();
  }

  /** All of it, each section as flat as the client has it. */
  get message(): AmqpMessage {
    return this.#message ??= this.#decoded(this.#bytes!);
  }

  /** Its application properties. */
  get properties(): AmqpMap {
    return this.#skimmed?.properties ?? this.message.application_properties ?? {};
  }

  /** The broker's own count of earlier deliveries, if it is a number. */
  get deliveryCount(): unknown {
    return this.#skimmed ? this.#skimmed.deliveryCount : this.message.delivery_count;
  }

  /** What a copy takes over. It is read anew from the bytes, so that only copies cost that. */
  get typed(): TypedParts {
    if (this.#bytes === undefined || this.message.undecodable) return untyped(this.message);
    const found: Partial<Record<Section, readonly Typed[]>> = {};
    const reader = new this.#codec.types.Reader(this.#bytes);
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

  #decodedBody(): ReadBody {
    const { body, undecodable } = bodyOf(this.message.body);
    return { body, undecodable: undecodable || this.message.undecodable === true };
  }

  #decoded(bytes: Buffer): AmqpMessage {
    try {
      if (isReadable(bytes)) return this.#codec.message.decode(bytes);
    } catch {
      // Its bytes are what is left of it.
    }
    return { body: bytes, undecodable: true };
  }
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

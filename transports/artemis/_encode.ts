/**
 * Writes the bytes of what most messages are: the client makes an object of each value first, which
 * costs more than all else that is done for a publish.
 */

import { Buffer } from "node:buffer";
import type { AmqpMessage } from "./_amqp.ts";

/** A map of texts alone. */
export type Texts = Readonly<Record<string, string>>;

/** A durable message that has nothing but texts, and when it was made. */
export interface PlainMessage extends AmqpMessage {
  readonly durable: true;
  readonly subject: string;
  readonly correlation_id?: string;
  readonly creation_time?: number;
  readonly message_annotations: Texts;
  readonly application_properties: Texts;
}

// A message up to its body is put together as text first, a character a byte.
const ASCII = /^[\x20-\x7e]*$/;
/** Largest byte. */
const LARGEST = 0xff;
/** Stands for what does not fit in. */
const BEYOND = "\uffff";
/** A section is described by a small number. */
const SECTION = "\x00\x53";
const [HEADER, ANNOTATIONS, IDENTITY, PROPERTIES] = ["\x70", "\x72", "\x73", "\x74"] as const;
const VALUE = "\x77";
/** Constructors of values. */
const [NULL, TRUE, TIMESTAMP] = ["\x40", "\x41", "\x83"] as const;
const [TEXT, SYMBOL, LIST, MAP] = ["\xa1", "\xa3", "\xc0", "\xc1"] as const;
const LONG_TEXT = 0xb1;
const DURABLE = SECTION + HEADER + LIST + counted(1, TRUE);
/** Properties that are not given, between those that are. */
const [ABSENT_3, ABSENT] = [NULL + NULL + NULL, NULL] as const;

/**
 * Encodes a message.
 *
 * @param message All but its body.
 * @param text The body, which is UTF-8.
 * @returns Its bytes; undefined when a part is too long for the short form, or no ASCII.
 */
export function encoded(message: PlainMessage, text: Uint8Array): Buffer | undefined {
  const head = headOf(message);
  const long = text.length > LARGEST;
  const bytes = Buffer.allocUnsafe(head.length + (long ? 5 : 2) + text.length);
  let at = 0;
  for (; at < head.length; at++) {
    const byte = head.charCodeAt(at);
    if (byte > LARGEST) return undefined;
    bytes[at] = byte;
  }
  bytes[at++] = long ? LONG_TEXT : TEXT.charCodeAt(0);
  at = long ? bytes.writeUInt32BE(text.length, at) : bytes.writeUInt8(text.length, at);
  bytes.set(text, at);
  return bytes;
}

function headOf(message: PlainMessage): string {
  const { subject, correlation_id, creation_time } = message;
  const identity = ABSENT_3 + short(TEXT, subject) + ABSENT +
    (correlation_id === undefined ? ABSENT : short(TEXT, correlation_id)) + ABSENT_3 +
    (creation_time === undefined ? ABSENT : timestamp(creation_time));
  return DURABLE +
    SECTION + ANNOTATIONS + MAP + texts(SYMBOL, message.message_annotations) +
    SECTION + IDENTITY + LIST + counted(10, identity) +
    SECTION + PROPERTIES + MAP + texts(TEXT, message.application_properties) +
    SECTION + VALUE;
}

/** Elements of a list or a map with their size and number. */
function counted(count: number, elements: string): string {
  return byte(elements.length + 1) + byte(count) + elements;
}

function texts(kind: string, map: Texts): string {
  let [count, elements] = [0, ""];
  for (const name of Object.keys(map)) {
    count += 2;
    elements += short(kind, name) + short(TEXT, map[name]!);
  }
  return counted(count, elements);
}

function short(kind: string, value: string): string {
  return ASCII.test(value) ? kind + byte(value.length) + value : BEYOND;
}

/** One byte; a number that needs more has a character that is none. */
function byte(value: number): string {
  return value > LARGEST ? BEYOND : String.fromCharCode(value);
}

/** Unix milliseconds in eight bytes. */
function timestamp(ms: number): string {
  return ms < 0 ? BEYOND : TIMESTAMP + uint(Math.floor(ms / 2 ** 32)) + uint(ms % 2 ** 32);
}

/** A number in four bytes. */
function uint(value: number): string {
  return String.fromCharCode(
    value >>> 24,
    (value >> 16) & LARGEST,
    (value >> 8) & LARGEST,
    value & LARGEST,
  );
}

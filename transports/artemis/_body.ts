/** Bodies as AMQP sections, byte for byte. Contract: X1, X3. */

import { Buffer } from "node:buffer";

/** A section of bytes or of a list as rhea reads it. */
interface Section {
  readonly typecode: number;
  readonly content: unknown;
}

/** A received body. */
export interface ReadBody {
  readonly body: Uint8Array;
  /** It is of a kind that carries no envelope. */
  readonly undecodable: boolean;
}

const DATA_SECTION = 0x75;
const utf8 = new TextEncoder();
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });

/**
 * The section for a body: a string, which JMS calls a TextMessage; bytes that are no text go as data.
 *
 * @param body The body.
 * @returns A string, or bytes to be put into a data section.
 */
export function sectionOf(body: Uint8Array): string | Uint8Array {
  const text = lossy.decode(body);
  // Only then it may stand for a byte that is no UTF-8; the strict decoder is the slower one.
  if (!text.includes("\uFFFD")) return text;
  try {
    return strict.decode(body);
  } catch {
    return body;
  }
}

/**
 * Reads a body section. What is neither text nor bytes is shown as JSON, for the record of it.
 *
 * @param section The section as rhea gives it.
 * @returns The bytes.
 */
export function bodyOf(section: unknown): ReadBody {
  if (typeof section === "string") return { body: utf8.encode(section), undecodable: false };
  if (section instanceof Uint8Array) return { body: plain(section), undecodable: false };
  if (section === undefined || section === null) {
    return { body: new Uint8Array(), undecodable: false };
  }
  const { typecode, content } = section as Partial<Section>;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  if (typecode === DATA_SECTION && parts.every((part) => part instanceof Uint8Array)) {
    const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    return { body: plain(body), undecodable: false };
  }
  return { body: utf8.encode(shown(content ?? section)), undecodable: true };
}

/** Not a Buffer, whose methods differ; the same memory. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function shown(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner) => typeof inner === "bigint" ? String(inner) : inner) ??
      String(value);
  } catch {
    return "a body that is neither text nor bytes";
  }
}

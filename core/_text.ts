const lenient = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });
const strict = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const encoder = /* @__PURE__ */ new TextEncoder();

/** Decodes UTF-8, a BOM included; null when the bytes are not valid UTF-8. Contract: C66. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  // The lenient decoder is much the faster one, and only a replacement character needs a second look.
  const text = lenient.decode(bytes);
  if (!text.includes("\uFFFD")) return text;
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** Decodes a part of a text that may begin or end inside a character. */
export function decodeWindow(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}

/** Encodes a text as UTF-8. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/** Copies a text, so that a part of a body does not keep the whole body in memory. */
export function ownText(part: string): string {
  // The engines keep a slice as a view of its parent; a slice of a new text only holds that one.
  return (" " + part).slice(1);
}

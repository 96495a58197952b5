const lenient = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });
const strict = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true, fatal: true });
const encoder = /* @__PURE__ */ new TextEncoder();

/** Decodes UTF-8, a BOM included; null when the bytes are not valid UTF-8. Contract: C66. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    // The lenient decoder is much the faster one; only a replacement character needs a second look.
    const text = lenient.decode(bytes);
    return text.includes("\uFFFD") ? strict.decode(bytes) : text;
  } catch {
    // Not UTF-8, or longer than the engine's longest string.
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

/** The text of a body, or null when it has none. */
export function textOf(body: Uint8Array | string): string | null {
  if (typeof body !== "string") return decodeUtf8(body);
  // An unpaired surrogate has no UTF-8 form, so a text that holds one was never a body.
  return body.isWellFormed() ? body : null;
}

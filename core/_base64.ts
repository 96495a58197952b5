const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD = 0x3d;

/** Standard base64 with padding, as ASCII bytes. */
export function toBase64(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const table = Uint8Array.from(ALPHABET, (letter) => letter.charCodeAt(0));
  const letter = (six: number): number => table[six & 63] ?? PAD;
  const text = new Uint8Array(4 * Math.ceil(bytes.length / 3));
  let out = 0;
  for (let at = 0; at < bytes.length; at += 3) {
    const group = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    text[out++] = letter(group >> 18);
    text[out++] = letter(group >> 12);
    text[out++] = letter(group >> 6);
    text[out++] = letter(group);
  }
  const missing = (3 - (bytes.length % 3)) % 3;
  text.fill(PAD, text.length - missing);
  return text;
}

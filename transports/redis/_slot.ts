/** The polynomial of CRC-16/XMODEM. */
const POLYNOMIAL = 0x1021;
const SLOTS = 16_384;

/** The part of a key that decides about its slot: what stands in its first braces, if anything does. */
function tagOf(key: string): string {
  const open = key.indexOf("{");
  if (open < 0) return key;
  const close = key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}

/** The slot of a key in a Redis Cluster. */
export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(tagOf(key))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) !== 0 ? ((crc << 1) ^ POLYNOMIAL) & 0xffff : (crc << 1) & 0xffff;
    }
  }
  return crc % SLOTS;
}

import { BabelQueueError } from "@bq/core/transport";
import type { RedisClient } from "./client.ts";

/** Bytes that are no text in any encoding of Unicode. */
const NO_TEXT: readonly number[] = [0xff, 0x00, 0xfe, 0x80, 0x0a, 0x0d];

/**
 * Sends bytes and looks whether they come back.
 *
 * @throws {BabelQueueError} `invalid_option` when the client turns bytes into text: bodies would change
 * without anybody noticing.
 */
export async function assertBytes(client: RedisClient): Promise<void> {
  const sent = Uint8Array.from(NO_TEXT);
  const reply = await client.call(["ECHO", sent]);
  const came = reply instanceof Uint8Array ? [...reply] : null;
  if (came !== null && NO_TEXT.every((byte, at) => came[at] === byte)) return;
  throw new BabelQueueError(
    "invalid_option",
    "Cannot use option 'client': its call() " +
      (came === null ? "does not return bytes" : "changes bytes on their way"),
  );
}

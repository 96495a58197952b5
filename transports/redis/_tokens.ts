/** Bytes of chance in a token. Contract: R66. */
const TOKEN_BYTES = 16;
const HEX: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => byte.toString(16).padStart(2, "0"),
);

/** Hands out tokens, each for one reservation. */
export class TokenPurse {
  readonly #bytes: (length: number) => Uint8Array;
  #unused: string[] = [];

  /** @param bytes Random bytes fit for a token. */
  constructor(bytes: (length: number) => Uint8Array) {
    this.#bytes = bytes;
  }

  /** @param count How many; each was given to nobody, or came back unused. */
  take(count: number): string[] {
    const taken = this.#unused.splice(0, count);
    const missing = count - taken.length;
    if (missing > 0) {
      const chance = this.#bytes(TOKEN_BYTES * missing);
      for (let i = 0; i < missing; i++) {
        let token = "";
        for (let j = 0; j < TOKEN_BYTES; j++) token += HEX[chance[i * TOKEN_BYTES + j]!];
        taken.push(token);
      }
    }
    return taken;
  }

  /** Takes tokens back that the server is known not to have used; an empty queue would eat many. */
  giveBack(tokens: readonly string[]): void {
    this.#unused.unshift(...tokens);
  }
}

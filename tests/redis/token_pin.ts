import type { Delivery } from "@bq/core";
import { type Lab, randomBytes } from "./lab.ts";

/** Chance that can be told what comes next, so that a test knows a token before it is drawn. */
export class TokenPin {
  #next: Uint8Array | undefined;

  /** What the transport draws its tokens from. */
  readonly bytes = (length: number): Uint8Array => {
    const next = this.#next;
    this.#next = undefined;
    return next?.length === length ? next : randomBytes(length);
  };

  /**
   * Gives a delivery whose reservation has this token, whatever the server says about it: the value is
   * reserved for real, and then the keys are put back to what they were.
   */
  async reserve(lab: Lab, token: string, raw: string): Promise<Delivery> {
    const before = await lab.look();
    await lab.put({ ready: [raw] });
    this.#next = Uint8Array.from(token.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    const delivery = await lab.reserveOne();
    const [reservation] = (await lab.look()).deadlines;
    if (!reservation?.member.startsWith(`${token}:`)) {
      throw new Error(`Cannot reserve with token '${token}': the transport drew none`);
    }
    await lab.put(before);
    return delivery;
  }
}

/** The only source of chance of a history: the generator mulberry32, started by the seed. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not start neighbouring sequences.
    this.#state = Math.imul(seed ^ 0x5bf03635, 0x9e3779b1) | 0;
  }

  /** At least 0 and below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** True in `share` of the cases. */
  hits(share: number): boolean {
    return share > 0 && this.next() < share;
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** One of the list. */
  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }
}

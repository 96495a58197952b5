/** Slots given up at the front before the array is cut; a cut moves what is left. */
const SMALLEST_CUT = 1_024;

/** First in, first out, in amortised O(1) at any length; `Array.shift` moves a long array each time. */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  /** How many items there are. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** The first item, or undefined. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** @param item Goes to the end. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes the first item out. */
  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head >= SMALLEST_CUT && 2 * this.#head >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /**
   * The first items, still in place.
   *
   * @param max Most items to give.
   */
  first(max: number): T[] {
    return this.#items.slice(this.#head, this.#head + max) as T[];
  }
}

/** What a {@linkcode Heap} orders: the smallest `rank` first, then the smallest `order`. */
export interface HeapItem {
  /** Sort key. */
  rank: number;
  /** Tie-breaker; unique within a heap. */
  order: number;
  /** Where the item stands in its heap; kept by the heap, -1 outside of one. */
  heapIndex: number;
}

/** A binary heap whose items know their place, so that any of them leaves in O(log n). */
export class Heap<T extends HeapItem> {
  readonly #items: T[] = [];

  /** How many items there are. */
  get size(): number {
    return this.#items.length;
  }

  /** The first item, or undefined. */
  peek(): T | undefined {
    return this.#items[0];
  }

  /** Every item, in no particular order. */
  values(): readonly T[] {
    return this.#items;
  }

  /** @param item An item of no heap. */
  push(item: T): void {
    this.#items.push(item);
    this.#up(item, this.#items.length - 1);
  }

  /** Takes the first item out. */
  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  /** @param item An item of this heap. */
  remove(item: T): void {
    const index = item.heapIndex;
    item.heapIndex = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#up(last, index);
    this.#down(last, last.heapIndex);
  }

  #up(item: T, from: number): void {
    let index = from;
    while (index > 0) {
      const parent = this.#items[(index - 1) >> 1]!;
      if (before(parent, item)) break;
      this.#place(parent, index);
      index = (index - 1) >> 1;
    }
    this.#place(item, index);
  }

  #down(item: T, from: number): void {
    let index = from;
    for (;;) {
      let child = this.#items[2 * index + 1];
      const right = this.#items[2 * index + 2];
      if (child !== undefined && right !== undefined && before(right, child)) child = right;
      if (child === undefined || before(item, child)) break;
      const next = child.heapIndex;
      this.#place(child, index);
      index = next;
    }
    this.#place(item, index);
  }

  #place(item: T, index: number): void {
    this.#items[index] = item;
    item.heapIndex = index;
  }
}

function before(left: HeapItem, right: HeapItem): boolean {
  return left.rank < right.rank || (left.rank === right.rank && left.order < right.order);
}

import type { Delivery, Peeked, QueueSize } from "../../runtime/transport.ts";
import { Fifo } from "./_fifo.ts";
import { Heap, type HeapItem } from "./_heap.ts";

/** One message of a queue. It stands in exactly one of the queue's collections. */
export interface StoredMessage extends HeapItem {
  /** The body. */
  body: Uint8Array;
  /** Foreign headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Deliveries counted so far, for a body that cannot be read. Contract: M4. */
  beside: number | undefined;
  /** The delivery that holds it under a lease. */
  holder: Delivery | undefined;
  /** The subscription of that delivery. */
  owner: object | undefined;
}

/** A receive that waits. */
export interface Waiter {
  /** When it looks again by itself. */
  readonly untilMs: number;
  /** Makes it look now. */
  wake(): void;
}

/**
 * One queue: waiting, delayed and leased messages. It has no clock: every call says what time it is, in
 * elapsed milliseconds, which nothing sets back.
 */
export class MemoryQueue {
  readonly #ready: Fifo<StoredMessage> = new Fifo();
  /** Given back: ahead of everything that waits, in the order of publishing. */
  readonly #returned: Heap<StoredMessage> = new Heap();
  readonly #delayed: Heap<StoredMessage> = new Heap();
  readonly #leased: Heap<StoredMessage> = new Heap();
  readonly #waiters: Set<Waiter> = new Set();
  /** How many subscriptions there are. */
  subscribers = 0;
  #nextOrder = 0;

  /** Whether there is no message and nobody who would get one. */
  get unused(): boolean {
    const messages = this.#returned.size + this.#ready.size + this.#delayed.size +
      this.#leased.size;
    return this.subscribers === 0 && messages === 0;
  }

  /** The order that the next message gets; everything that waits now has a smaller one. */
  get nextOrder(): number {
    return this.#nextOrder;
  }

  /**
   * Puts a new message at the tail, or aside until its time.
   *
   * @param content The body, its headers, and a count of deliveries.
   * @param delayMs Wait before it can be received.
   */
  put(
    content: Pick<StoredMessage, "body" | "headers" | "beside">,
    nowMs: number,
    delayMs: number,
  ): void {
    this.#advance(nowMs);
    this.#append(
      { ...content, holder: undefined, owner: undefined, rank: 0, order: 0, heapIndex: -1 },
      nowMs,
      delayMs,
    );
  }

  /**
   * Takes the first waiting message under a lease; its holder has yet to be set.
   *
   * @param before Only a message with a smaller order.
   */
  reserve(nowMs: number, untilMs: number, before: number): StoredMessage | undefined {
    this.#advance(nowMs);
    const from = this.#returned.size > 0 ? this.#returned : this.#ready;
    const first = from.peek();
    if (first === undefined || first.order >= before) return undefined;
    const message = from === this.#ready ? this.#ready.shift()! : this.#returned.pop()!;
    message.rank = untilMs;
    this.#leased.push(message);
    return message;
  }

  /** Whether the delivery still holds the message. */
  holds(message: StoredMessage, delivery: Delivery, nowMs: number): boolean {
    this.#advance(nowMs);
    return message.holder === delivery;
  }

  /** Moves the lease of a held message. */
  extend(message: StoredMessage, untilMs: number): void {
    this.#leased.remove(message);
    message.rank = untilMs;
    this.#leased.push(message);
  }

  /** Ends a held message. */
  remove(message: StoredMessage): void {
    this.#leased.remove(message);
    message.holder = message.owner = undefined;
  }

  /** Gives a held message back to the head, unchanged. */
  giveBack(message: StoredMessage): void {
    this.remove(message);
    message.rank = message.order;
    this.#returned.push(message);
    this.#changed(-Infinity);
  }

  /** Puts a held message at the tail again, or aside until its time. Contract: M2. */
  putAgain(message: StoredMessage, nowMs: number, delayMs: number): void {
    this.remove(message);
    this.#append(message, nowMs, delayMs);
  }

  /** The held messages of a subscription. */
  heldBy(owner: object): StoredMessage[] {
    return this.#leased.values().filter((message) => message.owner === owner);
  }

  /** When a message falls due or comes back; Infinity when none will. */
  get nextChangeMs(): number {
    return Math.min(
      this.#delayed.peek()?.rank ?? Infinity,
      this.#leased.peek()?.rank ?? Infinity,
    );
  }

  /** Wakes the waiter once, as soon as there may be a message before its own time. */
  addWaiter(waiter: Waiter): void {
    this.#waiters.add(waiter);
  }

  /** Forgets the waiter. */
  deleteWaiter(waiter: Waiter): void {
    this.#waiters.delete(waiter);
  }

  /** Counts the queue. */
  size(nowMs: number): QueueSize {
    this.#advance(nowMs);
    return {
      ready: this.#returned.size + this.#ready.size,
      delayed: this.#delayed.size,
      inFlight: this.#leased.size,
    };
  }

  /** Copies of up to `max` messages: in the order of delivery, then the delayed and the leased ones. */
  peek(nowMs: number, max: number): Peeked[] {
    this.#advance(nowMs);
    const seen: Peeked[] = [];
    const look = (state: Peeked["state"], messages: readonly StoredMessage[]): void => {
      for (const { body, headers } of messages.slice(0, max - seen.length)) {
        seen.push({ body: new Uint8Array(body), headers, state });
      }
    };
    look("ready", sorted(this.#returned));
    look("ready", this.#ready.first(max));
    look("delayed", sorted(this.#delayed));
    look("inFlight", sorted(this.#leased));
    return seen;
  }

  #append(message: StoredMessage, nowMs: number, delayMs: number): void {
    message.order = this.#nextOrder++;
    if (delayMs > 0) {
      message.rank = nowMs + delayMs;
      this.#delayed.push(message);
      this.#changed(message.rank);
    } else {
      this.#ready.push(message);
      this.#changed(-Infinity);
    }
  }

  /** Lets leases end and delays pass. */
  #advance(nowMs: number): void {
    for (let due = this.#leased.peek(); due && due.rank <= nowMs; due = this.#leased.peek()) {
      this.giveBack(due);
    }
    for (let due = this.#delayed.peek(); due && due.rank <= nowMs; due = this.#delayed.peek()) {
      this.#delayed.remove(due);
      this.#append(due, nowMs, 0);
    }
  }

  /**
   * Wakes whoever waits past a time at which there is a message. A new lease wakes nobody: the message
   * it is on woke everybody when it came, and they look at the leases before they wait again.
   */
  #changed(atMs: number): void {
    for (const waiter of this.#waiters) {
      if (atMs >= waiter.untilMs) continue;
      this.#waiters.delete(waiter);
      waiter.wake();
    }
  }
}

function sorted(heap: Heap<StoredMessage>): StoredMessage[] {
  return [...heap.values()].sort((left, right) =>
    left.rank - right.rank || left.order - right.order
  );
}

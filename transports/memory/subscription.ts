import { BabelQueueError } from "../../core/errors.ts";
import { recordHeaders } from "../../core/headers.ts";
import type {
  Delivery,
  SubscribeOptions,
  Subscription,
  TransportContext,
  Verdict,
} from "../../runtime/transport.ts";
import type { MemoryQueue, StoredMessage, Waiter } from "./queue.ts";
import type { MemoryStore } from "./store.ts";

/** What a subscription works with. */
export interface SubscriptionSetup {
  /** Where the queues are. */
  readonly store: MemoryStore;
  /** Name of the queue. */
  readonly name: string;
  /** How long a delivery is held, in milliseconds. */
  readonly leaseMs: number;
  /** Time. */
  readonly context: TransportContext;
  /** What `subscribe` was told. */
  readonly options: SubscribeOptions;
  /** Called when the subscription has ended. */
  onClose(subscription: MemorySubscription): void;
}

/** Receives from and settles with one queue of a store. */
export class MemorySubscription implements Subscription {
  /** One: a receive that finds messages answers at once, a second one could only wait beside it. */
  readonly lanes: number = 1;
  readonly #setup: SubscriptionSetup;
  readonly #queue: MemoryQueue;
  readonly #held: WeakMap<Delivery, StoredMessage> = new WeakMap();
  readonly #waiting: Set<Waiter> = new Set();
  /** Orders below this are in the snapshot. */
  readonly #before: number;
  /** Deliveries left of a snapshot: a message given back must not make it endless. */
  #left: number;
  #closed = false;

  /** @param setup What it works with. */
  constructor(setup: SubscriptionSetup) {
    this.#setup = setup;
    this.#queue = setup.store.queue(setup.name);
    this.#queue.subscribers++;
    const nowMs = setup.context.clock.elapsed();
    const snapshot = setup.options.snapshot ?? false;
    this.#left = snapshot ? this.#queue.size(nowMs).ready : Infinity;
    this.#before = snapshot ? this.#queue.nextOrder : Infinity;
  }

  async receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    this.#assertOpen("receive");
    const { clock } = this.#setup.context;
    const endMs = clock.elapsed() + waitMs;
    while (!this.#closed && !this.#setup.options.intake.aborted) {
      const nowMs = clock.elapsed();
      const taken = this.#take(max, nowMs);
      if (taken.length > 0 || nowMs >= endMs || this.#before < Infinity) return taken;
      await this.#wait(Math.min(endMs, this.#queue.nextChangeMs), nowMs);
    }
    return [];
  }

  // The whole effect happens before the first await: a record or a retry copy and the end of the
  // delivery are one step, and a receive issued in the same tick already sees it.
  // deno-lint-ignore require-await
  async settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> {
    this.#assertOpen("settle");
    const nowMs = this.#setup.context.clock.elapsed();
    const message = this.#messageOf(delivery, nowMs);
    if (message === undefined) return "expired";
    const queue = this.#queue;
    switch (verdict.kind) {
      case "ack":
        queue.remove(message);
        break;
      case "retry":
        message.body = verdict.body;
        message.beside = verdict.attempts;
        queue.putAgain(message, nowMs, verdict.delayMs);
        break;
      case "release":
        queue.putAgain(message, nowMs, verdict.delayMs);
        break;
      case "return":
        queue.giveBack(message);
        break;
      case "leave":
        break;
      case "deadLetter":
        this.#setup.store.queue(verdict.queue).put(
          { body: verdict.record, headers: recordHeaders(message.headers), beside: undefined },
          nowMs,
          0,
        );
        queue.remove(message);
        break;
      case "deadLetterNatively":
        throw new BabelQueueError(
          "unsupported",
          `Cannot dead-letter a message of '${delivery.queue}' natively: memory has no dead-letter place of its own`,
        );
    }
    return "settled";
  }

  // deno-lint-ignore require-await
  async extend(delivery: Delivery): Promise<number | null> {
    this.#assertOpen("extend");
    const { context: { clock }, leaseMs } = this.#setup;
    const nowMs = clock.elapsed();
    const message = this.#messageOf(delivery, nowMs);
    if (message === undefined) return null;
    this.#queue.extend(message, nowMs + leaseMs);
    return clock.now() + leaseMs;
  }

  // deno-lint-ignore require-await
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const waiter of this.#waiting) waiter.wake();
    // Nobody can settle these any more: another worker gets them now, not when the lease ends.
    for (const message of this.#queue.heldBy(this)) this.#queue.giveBack(message);
    this.#queue.subscribers--;
    this.#setup.store.tidy(this.#setup.name);
    this.#setup.onClose(this);
  }

  #take(max: number, nowMs: number): Delivery[] {
    const taken: Delivery[] = [];
    const { context: { clock }, leaseMs } = this.#setup;
    const leaseUntilMs = clock.now() + leaseMs;
    while (taken.length < max && this.#left > 0) {
      const message = this.#queue.reserve(nowMs, nowMs + leaseMs, this.#before);
      if (message === undefined) break;
      const { body, headers, beside } = message;
      const counting = beside === undefined ? {} : { beside };
      const delivery = { queue: this.#setup.name, body, headers, counting, leaseUntilMs };
      message.holder = delivery;
      message.owner = this;
      this.#held.set(delivery, message);
      this.#left -= 1;
      taken.push(delivery);
    }
    return taken;
  }

  #messageOf(delivery: Delivery, nowMs: number): StoredMessage | undefined {
    const message = this.#held.get(delivery);
    return message && this.#queue.holds(message, delivery, nowMs) ? message : undefined;
  }

  /** Waits until then, or until there may be a message, or until work ends. */
  async #wait(untilMs: number, nowMs: number): Promise<void> {
    const { intake } = this.#setup.options;
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    const waiter: Waiter = { untilMs, wake };
    this.#queue.addWaiter(waiter);
    this.#waiting.add(waiter);
    intake.addEventListener("abort", wake, { once: true });
    try {
      await this.#setup.context.clock.sleep(untilMs - nowMs, woken.signal);
    } finally {
      this.#queue.deleteWaiter(waiter);
      this.#waiting.delete(waiter);
      intake.removeEventListener("abort", wake);
    }
  }

  #assertOpen(verb: string): void {
    if (!this.#closed) return;
    throw new BabelQueueError(
      "closed",
      `Cannot ${verb} on '${this.#setup.name}': the subscription is closed`,
    );
  }
}

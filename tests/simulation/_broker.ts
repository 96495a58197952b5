import type { Delivery } from "../../runtime/transport.ts";
import type { Log } from "./_log.ts";
import type { Message } from "./_message.ts";
import type { BrokerPlan } from "./_plan.ts";
import type { Entry, Time } from "./_time.ts";

/** Who takes messages. */
export interface Owner {
  /** The lease of a delivery ended before it was settled. */
  leaseEnds(delivery: Delivery): void;
}

/** A message as it lies in the broker; a retry by copy makes another one of the same message. */
export interface Stored {
  readonly message: Message;
  readonly queue: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly gated: boolean;
  body: Uint8Array;
  /** Deliveries made, where the broker counts them. */
  delivered: number;
  /** The count in the header of a copy. */
  header: number | undefined;
  /** The count kept beside the body. */
  beside: number | undefined;
  /** The count that it was last delivered with: it never goes down. */
  counted: number;
  state: "ready" | "delayed" | "taken" | "gone";
  /** Who has it while it is taken; `holder` changes with every delivery. */
  owner: Owner | null;
  holder: Delivery | null;
  /** The end of its lease or of its delay. */
  timer: Entry | null;
}

/** Copies of one message that faults may make: more would only fill the history. */
export const MOST_TWINS = 3;

/** Makes what `put` takes. */
export function stored(
  message: Message,
  queue: string,
  body: Uint8Array,
  more: Partial<Pick<Stored, "headers" | "gated" | "header" | "beside" | "counted">> = {},
): Stored {
  return {
    message,
    queue,
    body,
    headers: more.headers ?? NO_HEADERS,
    gated: more.gated ?? false,
    delivered: 0,
    header: more.header,
    beside: more.beside,
    counted: more.counted ?? 0,
    state: "gone",
    owner: null,
    holder: null,
    timer: null,
  };
}

const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

/** The simulated broker: it makes no mistakes and outlives every process. */
export class Broker {
  readonly plan: BrokerPlan;
  readonly #time: Time;
  readonly #log: Log;
  readonly #ready: Map<string, Stored[]> = new Map();
  readonly #there: Set<Stored> = new Set();
  readonly #waiting: Set<() => void> = new Set();

  constructor(plan: BrokerPlan, time: Time, log: Log) {
    this.plan = plan;
    this.#time = time;
    this.#log = log;
  }

  /** Everything that is not gone. */
  get there(): ReadonlySet<Stored> {
    return this.#there;
  }

  put(item: Stored, delayMs: number): void {
    this.#there.add(item);
    this.#release(item, delayMs, false);
  }

  /** Takes the next message for `owner`, under a lease where there are any. */
  take(queue: string, owner: Owner): Stored | undefined {
    const item = this.#ready.get(queue)?.shift();
    if (item === undefined) return undefined;
    item.state = "taken";
    item.owner = owner;
    item.delivered++;
    this.#lease(item);
    return item;
  }

  /** Whether this delivery still has the message. */
  holds(item: Stored, delivery: Delivery): boolean {
    return item.state === "taken" && item.holder === delivery;
  }

  /** Moves the lease forward. */
  extend(item: Stored): void {
    this.#lease(item);
  }

  remove(item: Stored): void {
    this.#untie(item);
    item.state = "gone";
    this.#there.delete(item);
  }

  /** Delivers it again, after a delay. */
  putAgain(item: Stored, delayMs: number): void {
    this.#release(item, delayMs, false);
  }

  /** Delivers it again before all others. */
  giveBack(item: Stored): void {
    this.#release(item, 0, true);
  }

  /** Gives back all that `owner` has. */
  giveBackOf(owner: Owner): void {
    for (const item of [...this.#there].reverse()) {
      if (item.state === "taken" && item.owner === owner) this.giveBack(item);
    }
  }

  /** Calls back once, at the next message that becomes ready on any queue. */
  onReady(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  #lease(item: Stored): void {
    if (this.plan.leaseMs === null) return;
    if (item.timer) this.#time.cancel(item.timer);
    // Its clock may run a little faster or slower than the worker's.
    item.timer = this.#time.at(this.plan.leaseMs * this.plan.leaseDrift, () => {
      this.#log.step("broker", `lease of #${item.message.serial} ends`);
      if (item.holder) item.owner?.leaseEnds(item.holder);
      this.giveBack(item);
    });
  }

  #release(item: Stored, delayMs: number, first: boolean): void {
    this.#untie(item);
    if (delayMs > 0) {
      item.state = "delayed";
      item.timer = this.#time.at(delayMs, () => this.#release(item, 0, false));
      return;
    }
    item.state = "ready";
    let queue = this.#ready.get(item.queue);
    if (queue === undefined) this.#ready.set(item.queue, queue = []);
    if (first) queue.unshift(item);
    else queue.push(item);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #untie(item: Stored): void {
    if (item.timer) this.#time.cancel(item.timer);
    item.timer = null;
    item.owner = null;
    item.holder = null;
  }
}

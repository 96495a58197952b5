import {
  asError,
  type Attached,
  closedError,
  type Delivery,
  messageOf,
  type Outgoing,
  recordHeaders,
  settledWithin,
  SettleWriteError,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type TransportContext,
  unlessAborted,
  type Verdict,
} from "@bq/core/transport";
import type { Connector } from "./_connector.ts";
import type { Received } from "./_decode.ts";
import { connectionError } from "./_errors.ts";
import {
  accepted,
  type Arrival,
  failed,
  type Outcome,
  Receiver,
  type ReceiverListener,
  released,
} from "./_receiver.ts";
import type { Sender } from "./_sender.ts";
import { confirmed } from "./_write.ts";
import { type Waiter, Waiters } from "./_waiters.ts";
import { deliveryCount, type Manner, toDelivery, toMessage } from "./project.ts";

/** Receives at a time: while one waits, slots that became free are asked for by the other. */
const LANES = 2;
/** The least part of the credit that is given again by itself. */
const LEAST_SHARE = 0.25;
/** Longest wait for the broker to take credit back, in milliseconds. */
const DRAIN_MS = 5_000;

/** What a subscription works with. */
export interface SubscriptionSetup {
  readonly queue: string;
  readonly connector: Connector;
  readonly context: TransportContext;
  readonly options: SubscribeOptions;
  /** Most deliveries; a snapshot's are counted. */
  readonly budget: number;
  /** What deliveries were made of, for whoever continues one. */
  readonly natives: Attached<Delivery, Received>;
  /** The link to a queue. */
  sender(queue: string): Sender;
  /** Called when the subscription has ended. */
  onClose(subscription: ArtemisSubscription): void;
}

/** Receives from and settles with one queue. It opens its link anew whenever that was lost. */
export class ArtemisSubscription implements Subscription {
  readonly lanes: number = LANES;
  readonly #setup: SubscriptionSetup;
  readonly #listener: ReceiverListener;
  readonly #held: Map<Delivery, Arrival> = new Map();
  /** What is settled as soon as a write is confirmed. */
  readonly #replacing: Map<Delivery, Arrival> = new Map();
  readonly #waiters: Waiters;
  readonly #writes: Set<Promise<unknown>> = new Set();
  readonly #ending: () => void;
  /** Aborted when nothing may be waited for any more. */
  readonly #ended: AbortController = new AbortController();
  #window: Arrival[] = [];
  #receiver: Receiver | undefined;
  #opening: Promise<Receiver> | undefined;
  /** Links that get no more credit, until all that they brought is settled. */
  readonly #retired: Set<Receiver> = new Set();
  #left: number;
  #handingOut = false;
  #closing: Promise<void> | undefined;

  /** @param setup What it works with. */
  constructor(setup: SubscriptionSetup) {
    this.#setup = setup;
    this.#left = setup.budget;
    this.#waiters = new Waiters(setup.context.clock, () => this.#handOut());
    this.#listener = {
      arrived: (arrival) => this.#arrived(arrival),
      gone: (receiver, error) => this.#gone(receiver, error),
    };
    const { intake } = setup.options;
    this.#ending = (): void => void this.#endIntake();
    intake.addEventListener("abort", this.#ending, { once: true });
  }

  /** Opens the link. */
  async open(): Promise<void> {
    await this.#link();
    if (this.#setup.options.intake.aborted) this.#ending();
  }

  async receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    const { queue, options, connector, context: { clock } } = this.#setup;
    if (this.#over) throw closedError(`receive from '${queue}'`, "the subscription is closed");
    const wanted = Math.min(max, this.#left);
    if (options.intake.aborted || wanted <= 0) return [];
    if (this.#window.length > 0) return this.#take(wanted);
    if (!connector.up) throw connectionError(`receive from '${queue}'`, connector.lost);
    const receiver = await this.#link();
    if (options.intake.aborted || this.#over) return [];
    const atOnce = waitMs <= 0 || options.snapshot;
    const { waiter, came } = this.#waiters.add(
      wanted,
      atOnce ? Infinity : clock.elapsed() + waitMs,
    );
    if (atOnce) void this.#askForAll(receiver).then(() => this.#withdraw(waiter));
    else this.#ask();
    return await came;
  }

  async settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> {
    if (this.#over) {
      const verb = `settle a message of '${delivery.queue}'`;
      throw closedError(verb, "the subscription is closed");
    }
    const arrival = this.#held.get(delivery);
    if (arrival === undefined) return "expired";
    switch (verdict.kind) {
      case "ack":
        return this.#settled(delivery, arrival, accepted);
      case "return":
        return this.#settled(delivery, arrival, released);
      case "leave":
        return this.#settled(delivery, arrival, undefined);
      case "deadLetterNatively": {
        const { reason, description = reason } = verdict;
        const error = { condition: "amqp:internal-error", description };
        return this.#settled(delivery, arrival, (native) => native.reject(error));
      }
      case "retry": {
        const { attempts, delayMs } = verdict;
        // The broker's own count would not get past a higher one in the body. Contract: X10, X12.
        const counts = attempts === deliveryCount(arrival.received) + 1;
        if (delayMs <= 0 && counts) return this.#settled(delivery, arrival, failed);
        const copy = { body: verdict.body, from: delivery, delayMs };
        return await this.#replace(delivery, arrival, delivery.queue, copy);
      }
      case "release": {
        const { delayMs } = verdict;
        if (delayMs <= 0) return this.#settled(delivery, arrival, failed);
        const copy = { body: delivery.body, from: delivery, delayMs };
        return await this.#replace(delivery, arrival, delivery.queue, copy);
      }
      case "deadLetter": {
        const { record, queue, reason } = verdict;
        // A gated record keeps the version that it was rejected for. Contract: G25.
        const from: Delivery = { ...delivery, headers: recordHeaders(delivery.headers) };
        const outgoing: Outgoing = reason === "gated"
          ? { body: record, from, verbatim: true }
          : { body: record, from };
        // What was kept for good does not vanish when its time is over. A body that is refused may say
        // a count that nobody counts by.
        const manner = reason === "poison"
          ? { expires: false, attempts: deliveryCount(arrival.received) }
          : { expires: false };
        return await this.#replace(delivery, arrival, queue, outgoing, manner);
      }
    }
  }

  async close({ signal }: SignalOptions = {}): Promise<void> {
    // The signal of a later call ends the wait of the first.
    const abort = (): void => this.#ended.abort();
    signal?.addEventListener("abort", abort, { once: true });
    this.#closing ??= this.#close();
    if (signal?.aborted) abort();
    try {
      await this.#closing;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  get #over(): boolean {
    return this.#closing !== undefined;
  }

  async #close(): Promise<void> {
    const { options: { intake }, onClose } = this.#setup;
    intake.removeEventListener("abort", this.#ending);
    this.#waiters.end();
    try {
      await Promise.all([...this.#writes]);
      // A broker that has fallen silent never opens it.
      const opened = Promise.resolve(this.#opening).then(() => {}, () => {});
      await unlessAborted(opened, this.#ended.signal, () => {});
      const receivers = [this.#receiver, ...this.#retired].filter((one) => one !== undefined);
      // What came and was not handed out, and what was not settled, would go back with the links; but
      // Qpid counts what it takes back like that.
      for (const arrival of [...this.#window.splice(0), ...this.#held.values()]) {
        arrival.receiver.settle(arrival, released);
      }
      this.#held.clear();
      await Promise.all(receivers.map((receiver) => receiver.close(this.#ended.signal)));
    } finally {
      this.#ended.abort();
      onClose(this);
    }
  }

  /** The link that gets credit. */
  async #link(): Promise<Receiver> {
    if (this.#receiver !== undefined) return this.#receiver;
    const { queue, connector } = this.#setup;
    this.#opening ??= Receiver.open(queue, connector, this.#listener).then((receiver) => {
      this.#receiver = receiver;
      return receiver;
    }).finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  /** Gives credit for what is waited for. */
  #ask(): void {
    const receiver = this.#receiver;
    if (receiver === undefined || receiver.draining) return;
    const wanted = this.#waiters.wanted - this.#window.length;
    const missing = Math.min(wanted, this.#left) - receiver.credit;
    // While most of it is out there still, a frame for every handler that ended would only cost.
    if (missing <= 0 || (receiver.credit > 0 && missing < wanted * LEAST_SHARE)) return;
    if (receiver.room > 0) receiver.ask(Math.min(missing, receiver.room));
    else if (receiver.credit === 0) this.#retire(receiver);
  }

  /** Goes on with another link: in the client, one unsettled delivery holds up all behind it. */
  #retire(receiver: Receiver): void {
    this.#receiver = undefined;
    this.#retired.add(receiver);
    void this.#link().then(() => this.#ask(), (error) => this.#waiters.answerAll(asError(error)));
  }

  #arrived(arrival: Arrival): void {
    if (this.#setup.options.intake.aborted) {
      return arrival.receiver.settle(arrival, released);
    }
    this.#window.push(arrival);
    if (this.#handingOut) return;
    this.#handingOut = true;
    // All that came in one piece is handed out together.
    queueMicrotask(() => this.#handOut());
  }

  #handOut(): void {
    this.#handingOut = false;
    while (this.#window.length > 0) {
      const waiter = this.#waiters.next();
      if (waiter === undefined) return;
      waiter.answer(this.#take(waiter.max));
    }
    // Who still waits may have less credit than its share now, and nobody else to ask for it.
    this.#ask();
  }

  #take(max: number): readonly Delivery[] {
    const taken = this.#window.splice(0, Math.min(max, this.#left));
    this.#left -= taken.length;
    return taken.map((arrival) => {
      const delivery = toDelivery(this.#setup.queue, arrival.received);
      this.#held.set(delivery, arrival);
      this.#setup.natives.set(delivery, arrival.received);
      return delivery;
    });
  }

  /** The time of a receive is over; credit that was drained with it is missing to the others. */
  #withdraw(waiter: Waiter): void {
    this.#handOut();
    this.#waiters.withdraw(waiter);
    this.#ask();
  }

  /** What is there comes before the answer that there is no more. */
  async #askForAll(receiver: Receiver): Promise<void> {
    if (receiver.draining) await this.#drained(receiver);
    this.#ask();
    await this.#drained(receiver);
  }

  async #drained(receiver: Receiver): Promise<void> {
    await settledWithin(receiver.drain(), DRAIN_MS, this.#setup.context.clock);
  }

  async #endIntake(): Promise<void> {
    const receiver = this.#receiver;
    this.#handOut();
    this.#waiters.answerAll();
    for (const arrival of this.#window.splice(0)) {
      arrival.receiver.settle(arrival, released);
    }
    if (receiver !== undefined) await this.#drained(receiver);
  }

  /** What a link brought is the broker's again, as soon as it is gone. Contract: X18. */
  #gone(receiver: Receiver, error: Error): void {
    const { lost } = this.#setup.options;
    this.#retired.delete(receiver);
    const active = receiver === this.#receiver;
    if (active) this.#receiver = undefined;
    this.#window = this.#window.filter((arrival) => arrival.receiver !== receiver);
    for (const deliveries of [this.#held, this.#replacing]) {
      for (const [delivery, arrival] of [...deliveries]) {
        if (arrival.receiver !== receiver) continue;
        deliveries.delete(delivery);
        lost(delivery, error);
      }
    }
    if (active) {
      this.#waiters.answerAll(connectionError(`receive from '${this.#setup.queue}'`, error));
    }
  }

  /** Settles what is held, which is not held any more then. */
  #settled(delivery: Delivery, arrival: Arrival, outcome: Outcome | undefined): "settled" {
    this.#held.delete(delivery);
    const { receiver } = arrival;
    receiver.settle(arrival, outcome);
    if (this.#retired.has(receiver) && receiver.idle) {
      this.#retired.delete(receiver);
      void receiver.close(this.#ended.signal);
    }
    return "settled";
  }

  /** Writes what takes the message's place, and then acknowledges it. Contract: G36, X13, X16. */
  async #replace(
    delivery: Delivery,
    arrival: Arrival,
    queue: string,
    outgoing: Outgoing,
    manner?: Manner,
  ): Promise<"settled" | "expired"> {
    const { sender, context: { clock } } = this.#setup;
    const message = toMessage(outgoing, clock.now(), arrival.received, manner);
    const write = confirmed(sender(queue), message, clock, this.#ended.signal);
    this.#held.delete(delivery);
    this.#replacing.set(delivery, arrival);
    this.#writes.add(write);
    const error = await write;
    this.#writes.delete(write);
    // The link may have gone meanwhile: then the message comes again, beside what was written.
    const ours = this.#replacing.delete(delivery);
    if (error !== undefined) {
      if (ours) this.#held.set(delivery, arrival);
      const what = queue === delivery.queue ? "the copy of a message" : "a record";
      throw new SettleWriteError(`Cannot write ${what} to '${queue}': ${messageOf(error)}`, {
        cause: error,
      });
    }
    return ours ? this.#settled(delivery, arrival, accepted) : "expired";
  }
}

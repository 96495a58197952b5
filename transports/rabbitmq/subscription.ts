import {
  BabelQueueError,
  closedError,
  type Delivery,
  SettleWriteError,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type TransportContext,
  unlessAborted,
  type Verdict,
} from "@bq/core/transport";
import type { Letter } from "./_batch.ts";
import type { RabbitMessage, RabbitProperties } from "./client.ts";
import type { Confirms } from "./_confirms.ts";
import type { Died, Epoch } from "./_epoch.ts";
import type { Link } from "./_link.ts";
import { deliveryOf } from "./_message.ts";
import { copyProperties, recordProperties } from "./project.ts";
import { PullSource } from "./_pull.ts";
import { PushSource } from "./_push.ts";
import { NoDelayError, type Place, type Queues } from "./_queues.ts";
import type { Arrived, Source } from "./_source.ts";

/** Longest wait in the worker's hands, in milliseconds; the channel must not be timed out by it. */
const LONGEST_HOLD_MS = 30_000;

/** What a subscription works with. */
export interface SubscriptionSetup extends SubscriptionParts {
  /** How many messages the worker has in hand, those that it settles included. */
  unsettled(): number;
}

/** What a transport hands a subscription. */
export interface SubscriptionParts {
  /** Name of the queue. */
  readonly queue: string;
  /** The connection that messages come on. */
  readonly link: Link;
  /** Sees to its queue. */
  readonly queues: Queues;
  /** Writes copies and records. */
  readonly confirms: Confirms;
  /** Makes a letter of a message, as it is delayed here. */
  letter(place: Place, body: Uint8Array, properties: RabbitProperties): Letter;
  /** Time and reports. */
  readonly context: TransportContext;
  /** What `subscribe` was told. */
  readonly options: SubscribeOptions;
  /** Whether messages are pushed or fetched. */
  readonly receive: "consume" | "get";
  readonly pollIntervalMs: number;
  /** Name that the connection is logged in with. */
  readonly user: string | undefined;
  /** Most deliveries; a snapshot's are counted. */
  readonly budget: number;
  /** Called when the subscription has ended. */
  onClose(subscription: RabbitmqSubscription): void;
}

/** Receives from and settles with one queue. */
export class RabbitmqSubscription implements Subscription {
  /** One: a receive that finds messages answers at once, a second one could only wait beside it. */
  readonly lanes: number = 1;
  readonly #setup: SubscriptionSetup;
  readonly #source: Source;
  readonly #held: Map<Delivery, Arrived> = new Map();
  /** Writes under way, each for a message of that channel. */
  readonly #writes: Map<Promise<unknown>, Epoch> = new Map();
  readonly #ending: () => void;
  /** Aborted when work ends. */
  readonly #stopped: AbortController = new AbortController();
  #left: number;
  #closing: Promise<void> | undefined;

  /** @param parts What it works with. */
  constructor(parts: SubscriptionParts) {
    const unsettled = (): number => this.#held.size + this.#writes.size;
    const setup = { ...parts, unsettled };
    this.#setup = setup;
    this.#left = setup.budget;
    const died: Died = (epoch, cause, alone) => this.#lose(epoch, cause, alone);
    // Only who fetches hears that nothing is there any more.
    const pulls = setup.receive === "get" || setup.options.snapshot === true;
    this.#source = pulls ? new PullSource(setup, died) : new PushSource(setup, died);
    this.#ending = (): void => {
      this.#stopped.abort();
      this.#source.end();
    };
    setup.options.intake.addEventListener("abort", this.#ending, { once: true });
    if (setup.options.intake.aborted) this.#ending();
  }

  /** Resolves when deliveries can flow. */
  async open(): Promise<void> {
    await this.#source.open();
  }

  async receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    this.#assertOpen("receive");
    const { queue, options: { snapshot = false } } = this.#setup;
    if (this.#left <= 0) return [];
    const arrived = await this.#source.receive(
      Math.min(max, this.#left),
      snapshot ? 0 : waitMs,
    );
    // Too late for whoever waited: the channel that it came on is closed, and the broker has it again.
    if (this.#closing !== undefined) return [];
    this.#left -= arrived.length;
    const taken: Delivery[] = [];
    for (const one of arrived) {
      // It died between its arrival and this turn: the broker has it again.
      if (one.epoch.dead) continue;
      const delivery = deliveryOf(queue, one.message);
      this.#held.set(delivery, one);
      taken.push(delivery);
    }
    return taken;
  }

  // What needs no write is done before the first await, so that it goes out in the tick of the call.
  // deno-lint-ignore require-await
  async settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> {
    this.#assertOpen("settle");
    const arrived = this.#held.get(delivery);
    if (arrived === undefined) return "expired";
    const { message, epoch } = arrived;
    if (verdict.kind === "deadLetterNatively") {
      throw new BabelQueueError(
        "unsupported",
        `Cannot dead-letter a message of '${delivery.queue}' natively: that is what a policy of the queue is for`,
      );
    }
    this.#held.delete(delivery);
    switch (verdict.kind) {
      case "ack":
        return epoch.ack(message) ? "settled" : "expired";
      case "return":
        return epoch.giveBack(message) ? "settled" : "expired";
      case "leave":
        return "settled";
      default:
        return this.#writing(
          this.#replace(delivery, arrived, this.#letterFor(message, delivery, verdict)),
          epoch,
        );
    }
  }

  /** The message of a delivery that is in hand, as it came. */
  messageOf(delivery: Delivery): RabbitMessage | undefined {
    return this.#held.get(delivery)?.message;
  }

  close(options: SignalOptions = {}): Promise<void> {
    return this.#closing ??= this.#close(options.signal);
  }

  /** Closing waits for it. */
  #writing<T>(write: Promise<T>, epoch: Epoch): Promise<T> {
    const quiet = write.catch(() => {});
    this.#writes.set(quiet, epoch);
    void quiet.then(() => this.#writes.delete(quiet));
    return write;
  }

  /** Writes what takes the message's place, and acknowledges it then. Contract: Q8, Q9, G36. */
  async #replace(
    delivery: Delivery,
    arrived: Arrived,
    letter: Letter,
  ): Promise<"settled" | "expired"> {
    const { confirms } = this.#setup;
    const { epoch, message } = arrived;
    const { queue } = letter.place;
    const [outcome] = await confirms.publish(queue, [letter], epoch.ended);
    if (outcome?.status === "confirmed") return epoch.ack(message) ? "settled" : "expired";
    const cause = outcome?.error;
    if (cause?.cause instanceof NoDelayError && !epoch.dead) {
      await this.#hold(letter.place, epoch);
      const undelayed = this.#setup.letter({ queue }, letter.body, letter.properties);
      return await this.#replace(delivery, arrived, undelayed);
    }
    if (!epoch.dead) this.#held.set(delivery, arrived);
    throw new SettleWriteError(
      `Cannot write what replaces a message of '${delivery.queue}' to '${queue}': ${cause?.message}`,
      { cause },
    );
  }

  /** Waits here what cannot be waited on the broker; the end of the work ends it. */
  async #hold({ delayMs = 0 }: Place, epoch: Epoch): Promise<void> {
    const ends = AbortSignal.any([epoch.ended, this.#stopped.signal]);
    await this.#setup.context.clock.sleep(Math.min(delayMs, LONGEST_HOLD_MS), ends);
  }

  #letterFor(
    message: RabbitMessage,
    { queue, body }: Delivery,
    verdict: Extract<Verdict, { kind: "retry" | "release" | "deadLetter" }>,
  ): Letter {
    const { letter, user } = this.#setup;
    switch (verdict.kind) {
      case "retry": {
        const properties = copyProperties(message, verdict.body, verdict.attempts, user);
        return letter({ queue, delayMs: verdict.delayMs }, verdict.body, properties);
      }
      case "release": {
        const properties = copyProperties(message, body, undefined, user);
        return letter({ queue, delayMs: verdict.delayMs }, body, properties);
      }
      case "deadLetter": {
        const place = { queue: verdict.queue, deadLetters: true };
        return letter(place, verdict.record, recordProperties(message, verdict));
      }
    }
  }

  #lose(epoch: Epoch, cause: Error, alone: boolean): void {
    const { options, context, queue } = this.#setup;
    const lost = [...this.#held].filter(([, arrived]) => arrived.epoch === epoch);
    if (alone) {
      const message = `the channel of '${queue}' was lost: ${cause.message}`;
      context.emit({ type: "warning", code: "channel_lost", message });
    }
    for (const [delivery] of lost) {
      this.#held.delete(delivery);
      options.lost(delivery, cause);
    }
  }

  async #close(signal: AbortSignal | undefined): Promise<void> {
    const { options, onClose } = this.#setup;
    this.#ending();
    options.intake.removeEventListener("abort", this.#ending);
    const abort = (): void => {
      for (const epoch of this.#writes.values()) epoch.giveUp();
    };
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    try {
      await Promise.all(this.#writes.keys());
      this.#held.clear();
      // A broker that does not answer is not waited for beyond the signal.
      await unlessAborted(this.#source.close(), signal, () => {});
    } finally {
      signal?.removeEventListener("abort", abort);
      onClose(this);
    }
  }

  #assertOpen(verb: string): void {
    if (this.#closing === undefined) return;
    throw closedError(`${verb} on '${this.#setup.queue}'`, "the subscription is closed");
  }
}

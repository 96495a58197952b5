import {
  type Attached,
  closedError,
  type Delivery,
  SettleWriteError,
  type SignalOptions,
  type SubscribeOptions,
  type Subscription,
  type TransportContext,
  unlessAborted,
  type Verdict,
  within,
} from "@bq/core/transport";
import { deliveryOf } from "./_delivery.ts";
import { connectionError, textOf } from "./_errors.ts";
import type { Held } from "./_intake.ts";
import { Membership } from "./_membership.ts";
import type { Producing } from "./_producing.ts";
import type { ConsumerEvents, IncomingRecord, KafkaConsumer, OutgoingRecord } from "./client.ts";
import { recordFor } from "./_verdict.ts";

/**
 * Longest time for the record that a verdict wants written first, in milliseconds. The worker waits 30 s
 * for the whole settle: it has to hear of a failed write before, or nobody hands the record out again.
 */
const WRITE_PATIENCE_MS = 20_000;
/** A settle that took so long has been given up by the worker. */
const GIVEN_UP_MS = 28_000;
/** Wait before a record that nobody settles any more is handed out again, in milliseconds. */
const AGAIN_MS = 1_000;

/** What a subscription works with. */
export interface SubscriptionSetup {
  /** Name of the queue. */
  readonly queue: string;
  /** Its topic. */
  readonly topic: string;
  /** The retry tiers. */
  readonly tiersMs: readonly number[];
  /** What writes. */
  readonly producing: Producing;
  /** Time, and whom to tell. */
  readonly context: TransportContext;
  /** What `subscribe` was told. */
  readonly options: SubscribeOptions;
  /** Where each partition ends for a snapshot; undefined = it does not. */
  readonly ends: ReadonlyMap<number, bigint> | undefined;
  /** What the record of a delivery is, for whoever continues it. */
  readonly sources: Attached<Delivery, IncomingRecord>;
  /** The topic of a queue. */
  topicOf(queue: string): string;
  /** Makes a member of the group. */
  consumer(events: ConsumerEvents): KafkaConsumer;
  /** Called when the subscription has ended; closing waits for what it gives, as long as it may. */
  onClose(subscription: KafkaSubscription): Promise<void>;
}

/** Receives from and settles with one queue. */
export class KafkaSubscription implements Subscription {
  /** One receive gets whatever is there: a second one would only wait beside it. */
  readonly lanes: number = 1;
  readonly #setup: SubscriptionSetup;
  readonly #membership: Membership;
  readonly #held: Map<Delivery, Held> = new Map();
  readonly #deliveries: Map<Held, Delivery> = new Map();
  readonly #waiters: Set<() => void> = new Set();
  readonly #writes: Set<Promise<unknown>> = new Set();
  /** Resolves when nothing is to be received any more. */
  readonly #over: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #intakeEnds: () => void;
  #closing: Promise<void> | undefined;

  /** @param setup What it works with. */
  constructor(setup: SubscriptionSetup) {
    this.#setup = setup;
    const { queue, context, options } = setup;
    this.#membership = new Membership({
      doing: `receive from '${queue}'`,
      ahead: true,
      clock: context.clock,
      consumer: (events) => setup.consumer(events),
      available: () => this.#wake(),
      lost: (held, cause) => this.#lost(held, cause),
      restarted: (_, message) => context.emit({ type: "warning", code: "topic", message }),
      failed: (error) => {
        context.emit({ type: "disconnected", error });
        this.#wake();
      },
    });
    this.#intakeEnds = (): void => {
      this.#over.resolve();
      this.#membership.intake.close();
      this.#wake();
    };
    options.intake.addEventListener("abort", this.#intakeEnds, { once: true });
    if (options.intake.aborted) this.#intakeEnds();
  }

  /** Name of the queue. */
  get queue(): string {
    return this.#setup.queue;
  }

  /** How many records the worker has and has not settled. */
  get inHand(): number {
    return this.#membership.intake.inHand;
  }

  /** Joins the group. */
  async start(): Promise<void> {
    await this.#membership.join();
  }

  async receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    this.#assertOpen("receive");
    const { context: { clock, emit }, options } = this.#setup;
    const endMs = clock.elapsed() + waitMs;
    for (;;) {
      if (this.#closing !== undefined || options.intake.aborted) return [];
      if (!this.#membership.joined) {
        await Promise.race([this.#membership.join(), this.#over.promise]);
        if (!this.#membership.joined) continue;
        emit({ type: "connected" });
      }
      const deliveries = this.#take(max);
      if (deliveries.length > 0 || this.#ended) return deliveries;
      const leftMs = endMs - clock.elapsed();
      if (leftMs <= 0) return [];
      await this.#wait(leftMs);
      const { failure } = this.#membership;
      if (!this.#membership.joined && failure !== undefined && this.#closing === undefined) {
        throw connectionError(`receive from '${this.#setup.queue}'`, failure);
      }
    }
  }

  async settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> {
    this.#assertOpen("settle");
    const held = this.#held.get(delivery);
    if (held === undefined) return "expired";
    const { intake } = this.#membership;
    const { clock } = this.#setup.context;
    const startMs = clock.elapsed();
    const write = recordFor(held.records[0]!, verdict, this.#setup);
    // Contract: K14.
    if (write === null) {
      this.#forget(delivery, held);
      intake.rewind(held);
      return "settled";
    }
    this.#held.delete(delivery);
    try {
      if (write !== undefined) await this.#write(write);
    } catch (error) {
      // Nothing was settled, so that the worker can settle it in another way, while it waits for that.
      const givenUp = clock.elapsed() - startMs >= GIVEN_UP_MS;
      if (givenUp) this.#rewindLater(delivery, held);
      else if (!held.lost) this.#held.set(delivery, held);
      throw error;
    }
    try {
      return await this.#track(this.#membership.commit(held));
    } catch (error) {
      throw connectionError(`acknowledge a message of '${this.#setup.queue}'`, error);
    } finally {
      // A later commit of the partition covers one that failed.
      this.#forget(delivery, held);
      intake.done(held);
    }
  }

  /** Nobody else would: its partition would stand still. Contract: K14. */
  #rewindLater(delivery: Delivery, held: Held): void {
    this.#forget(delivery, held);
    const { clock } = this.#setup.context;
    void clock.sleep(AGAIN_MS).then(() => this.#membership.intake.rewind(held));
  }

  close(options: SignalOptions = {}): Promise<void> {
    return this.#closing ??= this.#close(options.signal);
  }

  async #close(signal: AbortSignal | undefined): Promise<void> {
    const { options, onClose } = this.#setup;
    const abort = (): void => this.#membership.end();
    options.intake.removeEventListener("abort", this.#intakeEnds);
    this.#intakeEnds();
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    try {
      await unlessAborted(this.#end(), signal, () => {});
    } finally {
      this.#held.clear();
      await unlessAborted(onClose(this), signal, () => {});
      signal?.removeEventListener("abort", abort);
    }
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#writes]);
    await this.#membership.drained();
    await this.#membership.leave().catch(() => {});
  }

  #take(max: number): Delivery[] {
    const { queue, sources } = this.#setup;
    const deliveries: Delivery[] = [];
    while (deliveries.length < max) {
      const [held] = this.#membership.intake.take(1);
      if (held === undefined) break;
      const record = held.records[0]!;
      // What came after the snapshot stays, and its partition is not asked again.
      if (this.#isLate(record)) continue;
      const delivery = deliveryOf(queue, record);
      sources.set(delivery, record);
      this.#held.set(delivery, held);
      this.#deliveries.set(held, delivery);
      deliveries.push(delivery);
    }
    return deliveries;
  }

  #isLate({ partition, offset }: IncomingRecord): boolean {
    const { ends } = this.#setup;
    return ends !== undefined && offset >= (ends.get(partition) ?? 0n);
  }

  /** Whether a snapshot has nothing left to come. */
  get #ended(): boolean {
    const { ends } = this.#setup;
    if (ends === undefined) return false;
    const { intake } = this.#membership;
    return this.#held.size === 0 && !intake.hasAvailable &&
      intake.positions.every(({ partition, position }) => {
        const end = ends.get(partition);
        return end === undefined || (position !== undefined && position >= end);
      });
  }

  async #write(record: OutgoingRecord): Promise<void> {
    const { producing, context: { clock } } = this.#setup;
    const write = (over: AbortSignal) => this.#track(Promise.all(producing.write([record], over)));
    try {
      await within(WRITE_PATIENCE_MS, clock, undefined, write);
    } catch (error) {
      throw new SettleWriteError(`Cannot write a record to '${record.topic}': ${textOf(error)}`, {
        cause: error,
      });
    }
  }

  /** Closing waits for it. */
  async #track<T>(work: Promise<T>): Promise<T> {
    const quiet = work.catch(() => {});
    this.#writes.add(quiet);
    try {
      return await work;
    } finally {
      this.#writes.delete(quiet);
    }
  }

  #lost(held: Held, cause: Error): void {
    const delivery = this.#deliveries.get(held);
    if (delivery === undefined) return;
    // One that is being settled finds out by its commit.
    const unsettled = this.#held.has(delivery);
    this.#forget(delivery, held);
    if (unsettled) this.#setup.options.lost(delivery, cause);
  }

  #forget(delivery: Delivery, held: Held): void {
    this.#held.delete(delivery);
    this.#deliveries.delete(held);
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  async #wait(ms: number): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    this.#waiters.add(wake);
    await this.#setup.context.clock.sleep(ms, woken.signal);
    this.#waiters.delete(wake);
  }

  #assertOpen(verb: string): void {
    if (this.#closing === undefined) return;
    throw closedError(`${verb} on '${this.#setup.queue}'`, "the subscription is closed");
  }
}

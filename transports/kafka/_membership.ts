/**
 * A member of a group that may end and be made anew: what it took, and commits as whoever it is then.
 */

import { type Clock, closedError, settledWithin, unlessAborted, within } from "@bq/core/transport";
import { connectionError, isMovedOn } from "./_errors.ts";
import { type Held, Intake, type IntakeEvents } from "./_intake.ts";
import { patiently } from "./_patience.ts";
import type { ConsumerEvents, IncomingRecord, KafkaConsumer, PartitionOffset } from "./client.ts";

/** How often a commit that failed is tried again, in milliseconds. */
const AGAIN_MS = 100;
/** How long one that came after the group had moved on waits to be a member again, at a time, in milliseconds. */
const JOIN_MS = 1_000;
/** How long it is tried, in milliseconds. */
const PATIENCE_MS = 15_000;
/** How long the answer to one is waited for, in milliseconds. */
const ANSWER_MS = 30_000;
/** How long leaving waits for a start that is under way, in milliseconds. */
const STARTING_MS = 1_000;

/** What a membership works with. */
export interface MembershipSetup extends IntakeEvents {
  /** What could not be done, for errors: `receive from 'orders'`. */
  readonly doing: string;
  /** Whether a partition may be read on while somebody works on a record of it. */
  readonly ahead: boolean;
  /** Time. */
  readonly clock: Clock;
  /** Records came; called before any of them is handed out. */
  received?(records: readonly IncomingRecord[]): void;
  /** Makes a member, not yet started. */
  consumer(events: ConsumerEvents): KafkaConsumer;
  /** The member has ended by itself. */
  failed(error: Error): void;
}

interface Waiting {
  readonly held: Held;
  readonly offset: bigint;
  readonly untilMs: number;
  readonly committed: PromiseWithResolvers<"settled" | "expired">;
}

/** Membership of a group. */
export class Membership {
  /** What it took. */
  readonly intake: Intake;
  readonly #setup: MembershipSetup;
  readonly #ended: AbortController = new AbortController();
  #waiting: Waiting[] = [];
  #open = 0;
  #idle: (() => void) | undefined;
  #consumer: KafkaConsumer | undefined;
  #starting: Promise<void> | undefined;
  #failure: Error | undefined;

  /** @param setup What it works with. */
  constructor(setup: MembershipSetup) {
    this.#setup = setup;
    this.intake = new Intake(setup, setup.ahead);
  }

  /** Whether it is in the group, as far as it knows. */
  get joined(): boolean {
    return this.#consumer !== undefined && this.#starting === undefined;
  }

  /** What ended it last. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /**
   * Joins, unless it has.
   *
   * @param signal Ends the attempts.
   * @throws {ConnectionError} when that cannot be done.
   */
  join(signal?: AbortSignal): Promise<void> {
    if (this.#starting !== undefined) return this.#starting;
    if (this.#consumer !== undefined) return Promise.resolve();
    const starting = this.#join(signal).finally(() => this.#starting = undefined);
    return this.#starting = starting;
  }

  /**
   * Commits behind records that are done with, all of one turn in one call. Contract: K10, K61.
   *
   * @param held What is done with.
   * @param count How many of its records, from the oldest.
   * @returns `"expired"` when the partition is not this member's any more: nothing was committed.
   */
  commit(held: Held, count: number = held.records.length): Promise<"settled" | "expired"> {
    const committed = Promise.withResolvers<"settled" | "expired">();
    const offset = held.records[count - 1]!.offset + 1n;
    const untilMs = this.#setup.clock.elapsed() + PATIENCE_MS;
    this.#open++;
    void committed.promise.catch(() => {}).then(() => {
      if (--this.#open === 0) this.#idle?.();
    });
    this.#later({ held, offset, untilMs, committed });
    return committed.promise;
  }

  /** Waits until no commit is under way. */
  async drained(): Promise<void> {
    if (this.#open > 0) await new Promise<void>((resolve) => this.#idle = resolve);
  }

  /** Gives up every commit that is under way. */
  end(): void {
    this.#ended.abort();
  }

  /** Leaves the group; a start that is under way is given up. */
  async leave(): Promise<void> {
    this.#ended.abort();
    if (this.#starting !== undefined) {
      // One that does not come to its end, with a broker that is away, stops by itself when it does.
      if (!await settledWithin(this.#starting, STARTING_MS, this.#setup.clock)) return;
    }
    const consumer = this.#consumer;
    this.#consumer = undefined;
    await consumer?.stop();
  }

  /** A broker that has just come up needs a moment until it knows its groups. */
  async #join(signal: AbortSignal | undefined): Promise<void> {
    const { clock, doing } = this.#setup;
    const over = signal === undefined
      ? this.#ended.signal
      : AbortSignal.any([signal, this.#ended.signal]);
    try {
      await patiently(clock, () => this.#joinOnce(), { signal: over });
    } catch (error) {
      if (over.aborted) throw closedError(doing, "it was closed meanwhile");
      throw connectionError(doing, error);
    }
  }

  async #joinOnce(): Promise<void> {
    const events: ConsumerEvents = {
      assigned: (memberId, partitions) => this.intake.assigned(memberId, partitions),
      records: (partition, records, next) => {
        this.#setup.received?.(records);
        return this.intake.records(partition, records, next);
      },
      failed: (error) => {
        if (this.#consumer !== mine) return;
        this.#consumer = undefined;
        this.#failure = error;
        this.intake.end(`the consumer has ended: ${error.message}`);
        this.#setup.failed(error);
      },
    };
    const mine = this.#setup.consumer(events);
    this.#consumer = mine;
    try {
      await mine.start();
    } catch (error) {
      if (this.#consumer === mine) this.#consumer = undefined;
      throw error;
    }
    if (!this.#ended.signal.aborted) return;
    await mine.stop();
    throw closedError(this.#setup.doing, "it was closed meanwhile");
  }

  #later(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#waiting.length === 1) queueMicrotask(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    const all = this.#waiting;
    this.#waiting = [];
    for (const { held, committed } of all) if (held.lost) committed.resolve("expired");
    const ours = all.filter(({ held }) => !held.lost);
    if (ours.length === 0) return;
    const offsets = ours.map(({ held, offset }): PartitionOffset => ({
      ...held.partition,
      offset,
    }));
    // It may be joined anew before the refusal is heard.
    const { joined } = this.intake;
    try {
      if (this.#consumer === undefined) throw this.#failure ?? new Error("there is no consumer");
      await this.#answered(this.#consumer.commit(offsets));
      for (const { committed } of ours) committed.resolve("settled");
    } catch (error) {
      await this.#again(ours, error, joined);
    }
  }

  /** A client may lose a request. One that is made again meanwhile changes nothing. */
  async #answered(commit: Promise<void>): Promise<void> {
    const ended = this.#ended.signal;
    const late = (): never => {
      const why = ended.aborted ? "before the end" : `within ${ANSWER_MS} ms`;
      throw new Error(`no answer to a commit ${why}`);
    };
    const answer = (over: AbortSignal): Promise<void> => unlessAborted(commit, over, late);
    await within(ANSWER_MS, this.#setup.clock, ended, answer);
  }

  /** The group may have moved on: then whoever it is joined as next decides whose the partition is. */
  async #again(
    waiting: readonly Waiting[],
    error: unknown,
    joined: Promise<void>,
  ): Promise<void> {
    const { clock } = this.#setup;
    const signal = this.#ended.signal;
    if (isMovedOn(error) && !signal.aborted) {
      const join = (over: AbortSignal) => unlessAborted(joined, over, () => {});
      await within(JOIN_MS, clock, signal, join);
    } else {
      await clock.sleep(AGAIN_MS, signal);
    }
    for (const one of waiting) {
      if (one.held.lost) one.committed.resolve("expired");
      else if (signal.aborted || clock.elapsed() >= one.untilMs) one.committed.reject(error);
      else this.#later(one);
    }
  }
}

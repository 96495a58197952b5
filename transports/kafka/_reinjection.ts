/** The work of a re-injector: one member of the group, any number of queues. */

import { type Clock, settledWithin, type TransportEvent } from "@bq/core/transport";
import { connectionError, textOf } from "./_errors.ts";
import type { Held } from "./_intake.ts";
import { Membership } from "./_membership.ts";
import { LARGEST_BATCH_BYTES, type Producing, sizeOf } from "./_producing.ts";
import type { IncomingRecord, KafkaClient } from "./client.ts";
import type { ResolvedBroker } from "./options.ts";
import { forwardRecord } from "./project.ts";
import { retryTopic } from "./tiers.ts";

/** Most records of a partition that are forwarded in one go. */
const LARGEST_RUN = 200;
/** Wait before a record that could not be written is tried again, in milliseconds. Contract: K14. */
const AGAIN_MS = 1_000;
/** Longest time for the end of what is under way, in milliseconds. */
const END_MS = 10_000;
/** Longest wait before the group is joined again, in milliseconds. */
const LONGEST_BACK_OFF_MS = 30_000;

/** What a re-injection works with. */
export interface ReinjectionSetup {
  /** The tiers, the group, how a member works. */
  readonly broker: ResolvedBroker;
  /** The queues. */
  readonly queues: readonly string[];
  /** What reads. */
  readonly client: KafkaClient;
  /** What writes. */
  readonly producing: Producing;
  /** Time. */
  readonly clock: Clock;
  /** Whom to tell. */
  emit(event: TransportEvent): void;
}

/**
 * When a record's wait is over: its own time plus the tier's, but never longer from now than the tier
 * and never before now. A record without a time that could be used waits for the whole tier.
 * Contract: K40, K41.
 *
 * @param timestampMs The record's time.
 * @param tierMs The tier's delay, from the configuration.
 * @param nowMs When it was received.
 */
export function dueMs(timestampMs: number, tierMs: number, nowMs: number): number {
  const usable = Number.isFinite(timestampMs) && timestampMs >= 0;
  if (!usable) return nowMs + tierMs;
  return Math.min(Math.max(timestampMs + tierMs, nowMs), nowMs + tierMs);
}

/** Serves the tiers of some queues. */
export class Reinjection {
  readonly #setup: ReinjectionSetup;
  readonly #tiers: ReadonlyMap<string, number>;
  readonly #membership: Membership;
  readonly #working: Set<Promise<void>> = new Set();
  readonly #due: WeakMap<IncomingRecord, number> = new WeakMap();
  #signal: AbortSignal = new AbortController().signal;
  #wake: () => void = () => {};

  /** @param setup What it works with. */
  constructor(setup: ReinjectionSetup) {
    this.#setup = setup;
    const { broker, queues, client, clock } = setup;
    this.#tiers = new Map(
      queues.flatMap((queue) =>
        broker.tiersMs.map((tierMs, index) =>
          [retryTopic(broker.prefix + queue, index + 1), tierMs] as const
        )
      ),
    );
    this.#membership = new Membership({
      doing: `serve the retry tiers of '${queues.join("', '")}'`,
      // Its partitions are paused while a record waits.
      ahead: false,
      clock,
      consumer: (events) =>
        client.consumer({
          ...broker,
          groupId: broker.reinjectGroupId,
          topics: [...this.#tiers.keys()],
          clock,
          events,
        }),
      received: (records) => this.#received(records),
      available: () => this.#start(),
      lost: () => {},
      restarted: (_, message) => this.#warn(message),
      failed: () => this.#wake(),
    });
  }

  /**
   * Works until stopped; joins again as often as it has to.
   *
   * @param signal Ends it.
   * @throws {ConnectionError} with `fatal: true` when trying again cannot help.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const { clock } = this.#setup;
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (let failures = 0; !signal.aborted;) {
        try {
          await this.#membership.join(signal);
          failures = 0;
          await this.#untilWoken();
          if (!signal.aborted) {
            throw this.#membership.failure ?? new Error("the consumer has ended");
          }
        } catch (error) {
          if (signal.aborted) break;
          const cause = connectionError("serve the retry tiers", error);
          if (cause.fatal) throw cause;
          this.#warn(cause.message);
          const waitMs = Math.min(AGAIN_MS * 2 ** failures++, LONGEST_BACK_OFF_MS);
          await clock.sleep(waitMs, signal);
        }
      }
    } finally {
      signal.removeEventListener("abort", stop);
      await this.#end();
    }
  }

  /** Lets what is under way end, as long as that does not take for ever. */
  async #end(): Promise<void> {
    const end = async (): Promise<void> => {
      await Promise.all([...this.#working]);
      await this.#membership.leave().catch(() => {});
    };
    this.#membership.intake.close();
    await settledWithin(end(), END_MS, this.#setup.clock);
    this.#membership.end();
  }

  async #untilWoken(): Promise<void> {
    if (this.#signal.aborted || !this.#membership.joined) return;
    await new Promise<void>((resolve) => this.#wake = resolve);
  }

  #start(): void {
    for (const held of this.#membership.intake.take(Infinity)) {
      const work = this.#forward(held).finally(() => this.#working.delete(work));
      this.#working.add(work);
    }
  }

  /**
   * Waits, writes, commits. A write that failed is tried again from its record on, one record at a
   * time, so that nothing overtakes and nothing is written again. Contract: K44.
   */
  async #forward(held: Held): Promise<void> {
    const { clock } = this.#setup;
    const first = held.records[0]!;
    await clock.sleep((this.#due.get(first) ?? 0) - clock.now(), this.#signal);
    this.#extend(held);
    let written = 0;
    let committed = 0;
    let together = true;
    while (!this.#signal.aborted && !held.lost) {
      try {
        if (written === committed) {
          const end = together ? held.records.length : written + 1;
          await this.#write(held.records.slice(written, end));
          written = end;
        }
        await this.#membership.commit(held, written);
        committed = written;
        if (committed === held.records.length) return this.#membership.intake.done(held);
      } catch (error) {
        // What was written and not committed is committed, and not written again.
        if (written === committed) together = false;
        const { topic, partition, offset } = held.records[committed]!;
        const place = `offset ${offset} of partition ${partition} of '${topic}'`;
        this.#warn(`${place} stays and is tried again: ${textOf(error)}`);
        await clock.sleep(AGAIN_MS, this.#signal);
      }
    }
  }

  /** Adds what is due and goes to the same topic, as much as one request carries. */
  #extend(held: Held): void {
    const { clock } = this.#setup;
    const [first] = held.records;
    const target = forwardRecord(first!, 0).topic;
    let bytes = sizeOf(first!);
    this.#membership.intake.extend(held, LARGEST_RUN, (record) => {
      const due = this.#due.get(record) ?? 0;
      if (due > clock.now() || forwardRecord(record, 0).topic !== target) return false;
      bytes += sizeOf(record);
      return bytes <= LARGEST_BATCH_BYTES;
    });
  }

  async #write(records: readonly IncomingRecord[]): Promise<void> {
    const { clock, producing } = this.#setup;
    const nowMs = clock.now();
    await producing.writeTogether(records.map((record) => forwardRecord(record, nowMs)));
  }

  /** Whoever is told cannot end the work by what it throws. */
  #warn(message: string): void {
    try {
      this.#setup.emit({ type: "warning", code: "reinject", message });
    } catch {
      // The work goes on.
    }
  }

  #received(records: readonly IncomingRecord[]): void {
    const nowMs = this.#setup.clock.now();
    for (const record of records) {
      const tierMs = this.#tiers.get(record.topic) ?? 0;
      this.#due.set(record, dueMs(record.timestampMs, tierMs, nowMs));
    }
  }
}

/** The work of a re-injector: one member of the group, any number of queues. */

import type { Clock, TransportEvent } from "@bq/core/transport";
import { connectionError, textOf } from "./_errors.ts";
import type { Held } from "./_intake.ts";
import { Membership } from "./_membership.ts";
import type { Producing } from "./_producing.ts";
import type { IncomingRecord, KafkaClient } from "./client.ts";
import type { ResolvedBroker } from "./options.ts";
import { forwardRecord } from "./project.ts";
import { retryTopic } from "./tiers.ts";

/** Most records of a partition that are forwarded in one go. */
const LARGEST_RUN = 200;
/** Wait before a record that could not be written is tried again, in milliseconds. Contract: K14. */
const AGAIN_MS = 1_000;
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
    const { clock, emit } = this.#setup;
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
          emit({ type: "warning", code: "reinject", message: cause.message });
          const waitMs = Math.min(AGAIN_MS * 2 ** failures++, LONGEST_BACK_OFF_MS);
          await clock.sleep(waitMs, signal);
        }
      }
    } finally {
      signal.removeEventListener("abort", stop);
      this.#membership.intake.close();
      await Promise.all([...this.#working]);
      await this.#membership.leave().catch(() => {});
    }
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

  /** Waits, writes, commits; a write that failed is tried again, and nothing overtakes. Contract: K44. */
  async #forward(held: Held): Promise<void> {
    const { clock, emit, producing } = this.#setup;
    const first = held.records[0]!;
    await clock.sleep((this.#due.get(first) ?? 0) - clock.now(), this.#signal);
    const { intake } = this.#membership;
    const target = forwardRecord(first, 0).topic;
    intake.extend(held, LARGEST_RUN, (record) => {
      const due = this.#due.get(record) ?? 0;
      return due <= clock.now() && forwardRecord(record, 0).topic === target;
    });
    while (!this.#signal.aborted && !held.lost) {
      try {
        const nowMs = clock.now();
        const records = held.records.map((record) => forwardRecord(record, nowMs));
        await Promise.all(producing.write(records));
        await this.#membership.commit(held);
        return intake.done(held);
      } catch (error) {
        const place = `partition ${first.partition} of '${first.topic}'`;
        const message = `offset ${first.offset} of ${place} stays and is tried again: ${
          textOf(error)
        }`;
        emit({ type: "warning", code: "reinject", message });
        await clock.sleep(AGAIN_MS, this.#signal);
      }
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

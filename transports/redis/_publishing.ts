import {
  BabelQueueError,
  type Clock,
  type Outgoing,
  type PublishOutcome,
  uncertainOutcome,
} from "@bq/core/transport";
import { UnsentError } from "./_errors.ts";
import type { PublishCall, QueueLayout } from "./_layout.ts";
import type { Link } from "./_link.ts";
import { afterThisTick } from "./_microtask.ts";
import { outcomeOf, publishAll, unansweredOutcome, unsentOutcome } from "./_publish.ts";

/** What the publishes of one queue need. */
export interface PublishingSetup {
  readonly queue: string;
  readonly layout: QueueLayout;
  readonly link: Link;
  readonly clock: Clock;
  /** Aborted when the transport closes. */
  readonly closing: AbortSignal;
}

/** One message on its way. */
interface Entry {
  readonly message: Outgoing;
  readonly signal: AbortSignal;
  /** The first outcome counts. */
  end(outcome: PublishOutcome): void;
}

/**
 * Joins the publishes of one tick: a producer that has many under way hears of many at once and goes on
 * with as many, so that they fit into one call. Each keeps its own outcome and its own deadline.
 */
export class Publishing {
  readonly #setup: PublishingSetup;
  readonly #open: Set<Entry> = new Set();
  #waiting: Entry[] = [];

  /** @param setup What it works with. */
  constructor(setup: PublishingSetup) {
    this.#setup = setup;
    setup.closing.addEventListener("abort", () => this.#close(), { once: true });
  }

  /** Publishes in order. It never rejects. */
  async publish(
    messages: readonly Outgoing[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PublishOutcome[]> {
    const { link, closing } = this.#setup;
    const own = signal ?? closing;
    if (messages.length === 1 && link.up) return [await this.#one(messages[0]!, own)];
    return await this.#alone(messages, own);
  }

  #alone(
    messages: readonly Outgoing[],
    own: AbortSignal,
  ): Promise<readonly PublishOutcome[]> {
    const { closing } = this.#setup;
    const signal = own === closing ? closing : AbortSignal.any([closing, own]);
    return publishAll(messages, { ...this.#setup, signal });
  }

  #one(message: Outgoing, signal: AbortSignal): Promise<PublishOutcome> {
    const { queue } = this.#setup;
    return new Promise((resolve) => {
      const abort = (): void =>
        entry.end(this.#waiting.includes(entry) ? unsentOutcome(queue) : unansweredOutcome(queue));
      const entry: Entry = {
        message,
        signal,
        end: (outcome) => {
          if (!this.#open.delete(entry)) return;
          signal.removeEventListener("abort", abort);
          resolve(outcome);
        },
      };
      this.#open.add(entry);
      signal.addEventListener("abort", abort, { once: true });
      if (this.#waiting.push(entry) === 1) afterThisTick(() => this.#send());
    });
  }

  #send(): void {
    const { layout, clock, link } = this.#setup;
    // What was called off meanwhile has had its outcome, and must not be sent.
    const entries = this.#waiting.filter((entry) => this.#open.has(entry));
    this.#waiting = [];
    if (!link.up) {
      for (const entry of entries) void this.#again(entry);
      return;
    }
    const messages = entries.map(({ message }) => message);
    for (const call of layout.publish(messages, clock.now())) void this.#call(call, entries);
  }

  async #call({ indexes, send }: PublishCall, entries: readonly Entry[]): Promise<void> {
    const { link, queue } = this.#setup;
    let outcome: PublishOutcome;
    try {
      await link.send(send);
      outcome = { status: "confirmed" };
    } catch (error) {
      if (error instanceof UnsentError) {
        for (const index of indexes) void this.#again(entries[index]!);
        return;
      }
      outcome = outcomeOf(queue, error);
    }
    for (const index of indexes) entries[index]!.end(outcome);
  }

  /** Nothing was sent, so that each can wait for the connection as long as its own time lasts. */
  async #again(entry: Entry): Promise<void> {
    if (!this.#open.has(entry)) return;
    const [outcome] = await this.#alone([entry.message], entry.signal);
    entry.end(outcome!);
  }

  #close(): void {
    const { queue } = this.#setup;
    const closed = new BabelQueueError("closed", "the transport is closed");
    for (const entry of this.#open) entry.end(uncertainOutcome(`publish to '${queue}'`, closed));
  }
}

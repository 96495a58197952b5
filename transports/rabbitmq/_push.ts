import type { RabbitMessage } from "./client.ts";
import { connectionError } from "./_errors.ts";
import { type Died, type Epoch, openEpoch } from "./_epoch.ts";
import type { Arrived, Source } from "./_source.ts";
import type { SubscriptionSetup } from "./subscription.ts";

/** How long a receive waits for a window whose messages are all in the worker's hands, in milliseconds. */
const STARVED_MS = 50;

/** Largest window that the protocol has a number for. */
const LARGEST_WINDOW = 65_535;

/**
 * The window that the broker pushes into. What the broker counts is what is unacknowledged, handed out
 * or not; a worker that holds messages back and asks for more gets another consumer, each with a window
 * of its own. Contract: Q6.
 */
export class PushSource implements Source {
  readonly #setup: SubscriptionSetup;
  readonly #died: Died;
  /** Messages that one consumer may have unacknowledged. */
  readonly #window: number;
  readonly #tags: string[] = [];
  #buffer: Arrived[] = [];
  #epoch: Epoch | undefined;
  #opening: Promise<void> | undefined;
  #trouble: Error | undefined;
  #wake: () => void = () => {};
  #ended = false;

  /**
   * @param setup What it works with.
   * @param died Told of a channel that died, with everything that came on it.
   */
  constructor(setup: SubscriptionSetup, died: Died) {
    this.#setup = setup;
    this.#died = died;
    this.#window = Math.min(setup.options.prefetch, LARGEST_WINDOW);
  }

  async open(): Promise<void> {
    if (this.#epoch !== undefined || this.#ended) return;
    this.#opening ??= this.#open().finally(() => this.#opening = undefined);
    await this.#opening;
  }

  async receive(max: number, waitMs: number): Promise<readonly Arrived[]> {
    const { clock } = this.#setup.context;
    const endMs = clock.elapsed() + waitMs;
    await this.open();
    void this.#narrow();
    if (this.#isIdle && waitMs <= 0) await this.#look();
    for (let leftMs = waitMs; this.#isIdle && leftMs > 0; leftMs = endMs - clock.elapsed()) {
      if (this.#isStarved) await this.#wait(Math.min(leftMs, STARVED_MS));
      else await this.#wait(leftMs);
      if (this.#isIdle && this.#isStarved) await this.#widen();
    }
    const trouble = this.#trouble;
    this.#trouble = undefined;
    if (this.#ended) return [];
    if (trouble !== undefined && this.#buffer.length === 0) throw trouble;
    return this.#buffer.splice(0, max);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    // Before anything is given back, or the broker would push it here again.
    while (this.#tags.length > 0) void this.#cancel();
    for (const { message, epoch } of this.#buffer.splice(0)) epoch.giveBack(message);
    this.#wake();
  }

  async close(): Promise<void> {
    this.end();
    await this.#opening?.catch(() => {});
    await this.#epoch?.close();
  }

  /** Whether a receive has nothing to say yet. */
  get #isIdle(): boolean {
    return this.#buffer.length === 0 && this.#trouble === undefined && !this.#ended;
  }

  /** Whether the broker pushes nothing because of what the worker has in hand. */
  get #isStarved(): boolean {
    const { unsettled } = this.#setup;
    return this.#epoch !== undefined && unsettled() >= this.#tags.length * this.#window;
  }

  async #open(): Promise<void> {
    const { link, queues, queue } = this.#setup;
    try {
      const epoch = await openEpoch(this.#setup, (...end) => this.#lost(...end));
      this.#epoch = epoch;
      await epoch.channel.prefetch(this.#window);
      await this.#consume(epoch);
      this.#trouble = undefined;
    } catch (error) {
      // This is the better report of a channel that died meanwhile.
      this.#trouble = undefined;
      const epoch = this.#epoch;
      this.#epoch = undefined;
      queues.forget(queue);
      await epoch?.close();
      throw connectionError(`consume from '${queue}'`, link.explain(error));
    }
  }

  async #consume(epoch: Epoch): Promise<void> {
    const { queue } = this.#setup;
    const { consumerTag } = await epoch.channel.consume(
      queue,
      (message) => this.#came(message, epoch),
    );
    this.#tags.push(consumerTag);
    if (this.#ended) void this.#cancel();
  }

  async #widen(): Promise<void> {
    const epoch = this.#epoch;
    try {
      if (epoch !== undefined) await this.#consume(epoch);
    } catch {
      // The channel died, and says so itself.
    }
  }

  /** Takes windows back when the worker has let go of as much, so that one stays free, and what came in them. */
  async #narrow(): Promise<void> {
    const { unsettled } = this.#setup;
    const cancelled: Promise<void>[] = [];
    while (this.#tags.length > 1 && unsettled() <= (this.#tags.length - 2) * this.#window) {
      cancelled.push(this.#cancel());
    }
    if (cancelled.length === 0) return;
    await Promise.all(cancelled);
    const stay = this.#tags.length * this.#window;
    for (const { message, epoch } of this.#buffer.splice(stay)) epoch.giveBack(message);
  }

  async #cancel(): Promise<void> {
    const tag = this.#tags.pop();
    try {
      if (tag !== undefined) await this.#epoch?.channel.cancel(tag);
    } catch {
      // The channel is dead, and its consumers with it.
    }
  }

  #came(message: RabbitMessage | null, epoch: Epoch): void {
    if (message === null) {
      this.#setup.queues.forget(this.#setup.queue);
      const why = "the broker ended the consumer: the queue was deleted or moved to another node";
      return epoch.abandon(new Error(why));
    }
    epoch.came(message);
    if (this.#ended) return void epoch.giveBack(message);
    this.#buffer.push({ message, epoch });
    // What came with it in one read is here before the receive goes on.
    if (this.#buffer.length === 1) queueMicrotask(() => this.#wake());
  }

  #lost(epoch: Epoch, cause: Error, alone: boolean): void {
    if (this.#epoch === epoch) {
      this.#epoch = undefined;
      this.#tags.length = 0;
    }
    this.#buffer = this.#buffer.filter((arrived) => arrived.epoch !== epoch);
    this.#trouble = connectionError(`receive from '${this.#setup.queue}'`, cause);
    this.#died(epoch, cause, alone);
    this.#wake();
  }

  /**
   * Lets come what is there. The broker answers the first question when the queue has given what it
   * has to the channel, and the second when the channel has sent it.
   */
  async #look(): Promise<void> {
    const { queue } = this.#setup;
    try {
      await this.#epoch?.channel.checkQueue(queue);
      if (this.#isIdle) await this.#epoch?.channel.checkQueue(queue);
    } catch (error) {
      this.#trouble ??= connectionError(`receive from '${queue}'`, error);
    }
  }

  async #wait(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = (): void => woken.abort();
    await this.#setup.context.clock.sleep(ms, woken.signal);
  }
}

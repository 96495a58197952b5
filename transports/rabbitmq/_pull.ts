import { connectionError } from "./_errors.ts";
import { type Died, type Epoch, openEpoch } from "./_epoch.ts";
import type { Arrived, Source } from "./_source.ts";
import type { SubscriptionSetup } from "./subscription.ts";

/**
 * Fetches one message at a time. On an empty queue it asks once an interval, however often it is called;
 * a receive that does not wait asks all the same. Contract: Q6.
 */
export class PullSource implements Source {
  readonly #setup: SubscriptionSetup;
  readonly #died: Died;
  readonly #end: AbortController = new AbortController();
  #epoch: Epoch | undefined;
  #opening: Promise<void> | undefined;
  /** When the queue may be asked again, by `Clock.elapsed`. */
  #nextPollMs = 0;

  /**
   * @param setup What it works with.
   * @param died Told of a channel that died, with everything that came on it.
   */
  constructor(setup: SubscriptionSetup, died: Died) {
    this.#setup = setup;
    this.#died = died;
  }

  async open(): Promise<void> {
    if (this.#epoch !== undefined || this.#end.signal.aborted) return;
    this.#opening ??= this.#open().finally(() => this.#opening = undefined);
    await this.#opening;
  }

  async receive(_max: number, waitMs: number): Promise<readonly Arrived[]> {
    const { queue, context: { clock }, pollIntervalMs } = this.#setup;
    const { signal } = this.#end;
    const endMs = clock.elapsed() + waitMs;
    for (;;) {
      const nowMs = clock.elapsed();
      const pauseMs = waitMs > 0 ? this.#nextPollMs - nowMs : 0;
      if (signal.aborted || pauseMs > 0 && nowMs >= endMs) return [];
      if (pauseMs > 0) {
        await clock.sleep(Math.min(pauseMs, endMs - nowMs), signal);
        continue;
      }
      await this.open();
      const epoch = this.#epoch;
      if (epoch === undefined) return [];
      let message;
      try {
        message = await epoch.channel.get(queue);
      } catch (error) {
        throw connectionError(`receive from '${queue}'`, this.#setup.link.explain(error));
      }
      if (message !== false) {
        epoch.came(message);
        return [{ message, epoch }];
      }
      this.#nextPollMs = clock.elapsed() + pollIntervalMs;
      if (clock.elapsed() >= endMs) return [];
    }
  }

  end(): void {
    this.#end.abort();
  }

  async close(): Promise<void> {
    this.end();
    await this.#opening?.catch(() => {});
    await this.#epoch?.close();
  }

  async #open(): Promise<void> {
    const { link, queue } = this.#setup;
    try {
      const epoch = await openEpoch(this.#setup, (...end) => this.#lost(...end));
      if (!epoch.dead) this.#epoch = epoch;
    } catch (error) {
      throw connectionError(`receive from '${queue}'`, link.explain(error));
    }
  }

  #lost(epoch: Epoch, cause: Error, alone: boolean): void {
    if (this.#epoch === epoch) this.#epoch = undefined;
    this.#setup.queues.forget(this.#setup.queue);
    this.#died(epoch, cause, alone);
  }
}

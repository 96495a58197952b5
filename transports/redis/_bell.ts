import type { Clock } from "@bq/core/transport";
import type { RedisClient } from "./client.ts";
import { Watch } from "./_watch.ts";

/** Longest time that one blocking command may take, in milliseconds. Contract: R19. */
const SLICE_MS = 1_000;
/** Wait after a connection that failed, in milliseconds. */
const TROUBLE_MS = 100;

/**
 * Waits on a list of wake-up tokens, on a connection of its own: a blocking command keeps every other
 * one waiting. A token is a hint, so that losing one costs a second at most. Contract: R19, R91.
 */
export class Bell {
  readonly #duplicate: () => RedisClient;
  readonly #key: string;
  readonly #clock: Clock;
  readonly #watch: Watch;
  #client: RedisClient | undefined;
  /** Ends the wait that is under way; there is never more than one. */
  #wake: () => void = () => {};
  #closing: Promise<void> = Promise.resolve();

  /**
   * @param duplicate Makes the connection.
   * @param key The list.
   * @param clock Time.
   */
  constructor(duplicate: () => RedisClient, key: string, clock: Clock) {
    this.#duplicate = duplicate;
    this.#key = key;
    this.#clock = clock;
    // Dropping the connection ends the wait, and the next one connects again.
    this.#watch = new Watch(clock, () => void this.#drop());
  }

  /** Waits for a token, at most `ms` milliseconds and at most a slice. It never rejects. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const sliceMs = Math.min(ms, SLICE_MS);
    // No time at all would be without end to the server.
    const seconds = (Math.max(1, Math.ceil(sliceMs)) / 1_000).toString();
    const client = this.#client ??= this.#duplicate();
    this.#watch.sent();
    try {
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        client.call(["BLPOP", this.#key, seconds], this.#key).then(() => resolve(), reject);
      });
    } catch {
      await this.#drop();
      await this.#clock.sleep(Math.min(sliceMs, TROUBLE_MS), signal);
    } finally {
      this.#watch.answered();
    }
  }

  /** Ends the wait and disconnects. */
  close(): Promise<void> {
    this.#watch.end();
    return this.#drop();
  }

  #drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#wake();
    this.#closing = this.#closing.then(() => client?.close?.());
    return this.#closing;
  }
}

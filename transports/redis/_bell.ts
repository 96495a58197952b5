import type { Clock } from "@bq/core/transport";
import type { RedisClient } from "./client.ts";

/** Longest time that one blocking command may take, in milliseconds. Contract: R19. */
const SLICE_MS = 1_000;
/** How much later its answer may come before the connection is taken for dead, in milliseconds. */
const GRACE_MS = 5_000;
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
  #client: RedisClient | undefined;
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
  }

  /** Waits for a token, at most `ms` milliseconds and at most a slice. It never rejects. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const sliceMs = Math.min(ms, SLICE_MS);
    const patience = new AbortController();
    const ended = (): void => patience.abort();
    signal.addEventListener("abort", ended, { once: true });
    const client = this.#client ??= this.#duplicate();
    // No time at all would be without end to the server.
    const seconds = (Math.max(1, Math.ceil(sliceMs)) / 1_000).toString();
    const answered = client.call(["BLPOP", this.#key, seconds], this.#key)
      .then(() => "answered", () => "failed");
    const late = this.#clock.sleep(sliceMs + GRACE_MS, patience.signal).then(() => "late");
    const outcome = await Promise.race([answered, late]);
    patience.abort();
    signal.removeEventListener("abort", ended);
    if (outcome === "answered") return;
    await this.close();
    if (outcome === "failed") await this.#clock.sleep(Math.min(sliceMs, TROUBLE_MS), signal);
  }

  /** Disconnects; the next wait connects again. */
  close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#closing = this.#closing.then(() => client?.close?.());
    return this.#closing;
  }
}

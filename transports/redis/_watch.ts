import { type Clock, ConnectionError } from "@bq/core/transport";

/** Without any answer for so long, while some are due, the connection counts as broken; in milliseconds. */
const PATIENCE_MS = 10_000;
/** Looks in that time. */
const LOOKS = 4;

/**
 * Finds a connection that is silent although answers are due: a server that is frozen, or a network
 * that swallows everything. It looks now and then, since a timer for each command costs more than the
 * command.
 */
export class Watch {
  readonly #clock: Clock;
  readonly #silent: (cause: Error) => void;
  readonly #end: AbortController = new AbortController();
  #due = 0;
  #answers = 0;
  #watching = false;

  /**
   * @param clock Time.
   * @param silent Called when the connection counts as broken.
   */
  constructor(clock: Clock, silent: (cause: Error) => void) {
    this.#clock = clock;
    this.#silent = silent;
  }

  /** A command was sent. */
  sent(): void {
    this.#due++;
    if (!this.#watching) void this.#run();
  }

  /** It was answered, or will not be any more. */
  answered(): void {
    this.#due--;
    this.#answers++;
  }

  /** Looks no more. */
  end(): void {
    this.#end.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    this.#watching = true;
    let quiet = 0;
    while (this.#due > 0 && !signal.aborted) {
      const answers = this.#answers;
      await this.#clock.sleep(PATIENCE_MS / LOOKS, signal);
      quiet = answers === this.#answers && this.#due > 0 ? quiet + 1 : 0;
      if (quiet < LOOKS || signal.aborted) continue;
      quiet = 0;
      this.#silent(new ConnectionError(`Cannot hear of Redis: no answer within ${PATIENCE_MS} ms`));
    }
    this.#watching = false;
  }
}

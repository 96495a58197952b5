import { systemClock } from "../core/clock.ts";

/**
 * Turns of the event loop: in each one every promise job there is runs, however long the chain. A
 * message to oneself takes some 10 µs, a timer of 0 more than a millisecond.
 */
export class Turns {
  readonly #channel: MessageChannel | undefined;
  #next: () => void = () => {};

  constructor() {
    if (typeof MessageChannel === "undefined") return;
    this.#channel = new MessageChannel();
    this.#channel.port2.onmessage = () => this.#next();
  }

  /** Resolves in the next turn. */
  next(): Promise<void> {
    const channel = this.#channel;
    if (channel === undefined) return systemClock.sleep(0);
    return new Promise((resolve) => {
      this.#next = resolve;
      channel.port1.postMessage(null);
    });
  }

  /** Lets go of the channel, which would keep a process alive. */
  close(): void {
    this.#channel?.port1.close();
    this.#channel?.port2.close();
  }
}

/** An abort controller of the user, whose listeners are counted. */
export class CountedAbort {
  readonly signal: AbortSignal;
  readonly #controller: AbortController = new AbortController();
  readonly #listeners: Set<unknown> = new Set();

  constructor() {
    this.signal = this.#controller.signal;
    const { signal } = this;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>): void => {
      this.#listeners.add(args[1]);
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
      this.#listeners.delete(args[1]);
      remove(...args);
    };
  }

  /** Listeners that were added and never removed. */
  get listeners(): number {
    return this.#listeners.size;
  }

  abort(): void {
    this.#controller.abort();
  }
}

import { setImmediate } from "node:timers";

/**
 * Lets one batch a turn of the event loop pass. Answers to two calls may come in one piece; handed over
 * together, their messages would be handled together and both next calls sent together, again and
 * again: the server would wait while the worker works, and the worker while the server does.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  /**
   * Resolves when it is this batch's turn; at once where no other had this one.
   *
   * @param more Whether another batch may come in the same turn.
   */
  next(more: boolean): Promise<void> | undefined {
    if (this.#taken) return new Promise((resolve) => this.#waiting.push(resolve));
    if (more) this.#take();
    return undefined;
  }

  #take(): void {
    this.#taken = true;
    // deno-lint-ignore house/time -- a turn of the event loop is no time: timers have milliseconds
    setImmediate(() => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken = false;
      else {
        next();
        this.#take();
      }
    });
  }
}

import { BabelQueueError, PublishUncertainError } from "../core/errors.ts";
import { abortable, issue } from "./_waits.ts";
import type { Deadline, Deadlines } from "./_deadlines.ts";

/** Part of the time-out that is left to the transport to say what became of a publish that was called off; at most a second. */
const ANSWER_SHARE = 0.1;
const LONGEST_ANSWER_MS = 1_000;

/**
 * The time a publish may take. It is called off a tenth of the time-out, at most a second, before that
 * ends, so that the transport can still tell whether it was sent; at the end nobody waits any more.
 */
export class PublishWait {
  readonly #deadlines: Deadlines;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #calledOff: AbortController = new AbortController();
  /** What ends the waits for an answer. */
  readonly #answers: (() => void)[] = [];
  readonly #pending: Deadline[] = [];
  #closed = false;
  #givenUp = false;

  constructor(deadlines: Deadlines, timeoutMs: number, signal: AbortSignal | undefined) {
    this.#deadlines = deadlines;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    const answerMs = Math.min(LONGEST_ANSWER_MS, timeoutMs * ANSWER_SHARE);
    this.#pending.push(
      deadlines.add(timeoutMs - answerMs, () => this.#calledOff.abort()),
      deadlines.add(timeoutMs, () => this.#giveUp()),
    );
    signal?.addEventListener("abort", this.#cancel, { once: true });
    if (signal?.aborted) this.#cancel();
  }

  /** Aborted when nothing more is to be sent. */
  get calledOff(): AbortSignal {
    return this.#calledOff.signal;
  }

  /** What comes before the sending, at most until the publish is called off. */
  before<T>(call: () => Promise<T>, queue: string): Promise<T> {
    return abortable(issue(call), this.calledOff, () => this.notSent(queue));
  }

  /** The sending, at most until nobody waits any more. */
  sending<T>(call: () => Promise<T>, queue: string): Promise<T> {
    const unconfirmed = (): Error =>
      new PublishUncertainError(`Cannot confirm a publish to '${queue}': ${this.#why()}`);
    return new Promise((resolve, reject) => {
      const end = (): void => reject(unconfirmed());
      issue(call).then(resolve, reject);
      if (this.#givenUp) end();
      else this.#answers.push(end);
    });
  }

  /** The error of a publish that was called off before it was sent. */
  notSent(queue: string): Error {
    const { aborted, reason } = this.#signal ?? {};
    const cause = aborted ? { cause: reason as unknown } : undefined;
    const message = `Cannot publish to '${queue}': ${this.#why()}`;
    return new BabelQueueError("publish_failed", message, cause);
  }

  /** Ends the wait because the App closes. */
  close(): void {
    this.#closed = true;
    this.#calledOff.abort();
    this.#giveUp();
  }

  /** Takes the deadlines and the listener back. */
  end(): void {
    for (const deadline of this.#pending) this.#deadlines.remove(deadline);
    this.#signal?.removeEventListener("abort", this.#cancel);
  }

  #giveUp(): void {
    this.#givenUp = true;
    for (const end of this.#answers.splice(0)) end();
  }

  #why(): string {
    if (this.#signal?.aborted) return "the publish was cancelled";
    if (this.#closed) return "the App was closed";
    return `no confirmation within ${this.#timeoutMs} ms`;
  }

  /** Once cancelled, the transport has a second at most to say what became of it. */
  #cancel = (): void => {
    this.#calledOff.abort();
    this.#pending.push(this.#deadlines.add(LONGEST_ANSWER_MS, () => this.#giveUp()));
  };
}

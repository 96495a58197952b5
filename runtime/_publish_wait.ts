import { BabelQueueError, PublishUncertainError } from "../core/errors.ts";
import type { Clock } from "../core/clock.ts";
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
  /** When the publish began, in milliseconds of `Clock.elapsed`. */
  readonly sinceMs: number;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #calledOff: AbortController = new AbortController();
  /** What ends the waits for an answer. */
  readonly #answers: (() => void)[] = [];
  /** One at a time, since nearly every publish ends before the first. */
  #next: Deadline;
  #closed = false;
  #givenUp = false;

  constructor(
    clock: Clock,
    deadlines: Deadlines,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ) {
    this.sinceMs = clock.elapsed();
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    const answerMs = Math.min(LONGEST_ANSWER_MS, timeoutMs * ANSWER_SHARE);
    this.#next = deadlines.at(this.sinceMs + timeoutMs - answerMs, this.#callOff);
    signal?.addEventListener("abort", this.#callOff, { once: true });
    if (signal?.aborted) this.#callOff();
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

  /** Takes the deadline and the listener back. */
  end(): void {
    this.#deadlines.remove(this.#next);
    this.#signal?.removeEventListener("abort", this.#callOff);
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

  /** The transport has a second at most, and no longer than the publish, to say what became of it. */
  #callOff = (): void => {
    this.#calledOff.abort();
    this.#deadlines.remove(this.#next);
    const answerByMs = this.#clock.elapsed() + LONGEST_ANSWER_MS;
    const endsAtMs = this.sinceMs + this.#timeoutMs;
    this.#next = this.#deadlines.at(Math.min(answerByMs, endsAtMs), () => this.#giveUp());
  };
}

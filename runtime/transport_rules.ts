/**
 * What every transport does alike: it opens once, refuses what cannot be done, waits within bounds, and
 * says what became of a publish.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import { BabelQueueError, PublishUncertainError } from "../core/errors.ts";
import type { HeaderCarrier } from "../core/headers.ts";
import { messageOf } from "../core/thrown.ts";
import { pause } from "./_waits.ts";
import type { Outgoing, PublishDelay, PublishOutcome } from "./transport.ts";

/** The headers of a message that has none, frozen and without a prototype. */
export const NO_HEADERS: HeaderCarrier = /* @__PURE__ */ Object.freeze(Object.create(null));

/**
 * The error of a transport that is opened when it cannot be.
 *
 * @param transport Its name, as it is written in a sentence.
 * @param closed Whether it is closed; else it is open already.
 */
export function cannotOpen(transport: string, closed: boolean): BabelQueueError {
  return new BabelQueueError(
    closed ? "closed" : "invalid_option",
    `Cannot open the ${transport} transport: it is ${closed ? "closed" : "open already"}`,
  );
}

/**
 * The error of a transport that is used while it is not open.
 *
 * @param doing What could not be done, for instance `publish to 'orders'`.
 * @param transport Its name, as it is written in a sentence.
 * @param closed Whether it is closed; else it is not open yet.
 */
export function notOpen(doing: string, transport: string, closed: boolean): BabelQueueError {
  return closedError(doing, `the ${transport} transport is ${closed ? "closed" : "not open yet"}`);
}

/**
 * The error of what is closed, or not yet open, and refuses work.
 *
 * @param doing What could not be done, for instance `receive from 'orders'`.
 * @param why What is closed, as a sentence.
 */
export function closedError(doing: string, why: string): BabelQueueError {
  return new BabelQueueError("closed", `Cannot ${doing}: ${why}`);
}

/**
 * Refuses a queue without a name.
 *
 * @param queue The name.
 * @throws {BabelQueueError} `invalid_option` when it is empty.
 */
export function assertQueueName(queue: string): void {
  if (queue !== "") return;
  throw new BabelQueueError("invalid_option", "Cannot use a queue with an empty name");
}

/**
 * Refuses messages whose delay is longer than the broker can make it.
 *
 * @param queue Where they are published to.
 * @param messages The messages.
 * @param delay How a publish can be delayed.
 * @param why Says of a delay why there can be none at all.
 * @throws {BabelQueueError} `unsupported`, naming the first such delay.
 */
export function refuseDelays(
  queue: string,
  messages: readonly Outgoing[],
  delay: PublishDelay,
  why: (delayMs: number) => string,
): void {
  const longestMs = longestDelayMs(delay);
  const delayMs = messages.find(({ delayMs = 0 }) => delayMs > longestMs)?.delayMs;
  if (delayMs === undefined) return;
  const reason = longestMs === 0
    ? why(delayMs)
    : `delay ${delayMs} ms exceeds the maximum of ${longestMs} ms`;
  throw new BabelQueueError("unsupported", `Cannot publish to '${queue}': ${reason}`);
}

/**
 * The longest delay of a publish, in milliseconds; 0 when there can be none.
 *
 * @param delay How a publish can be delayed.
 */
export function longestDelayMs(delay: PublishDelay): number {
  switch (delay.kind) {
    case "none":
      return 0;
    case "native":
      return delay.maxMs ?? Infinity;
    case "tiers":
      return delay.tiersMs.at(-1) ?? 0;
  }
}

/**
 * The outcome of a message that the broker does not have.
 *
 * @param doing What could not be done, for instance `publish to 'orders'`.
 * @param cause What was thrown.
 * @param why The reason in words; by default the cause's.
 */
export function failedOutcome(
  doing: string,
  cause: unknown,
  why: string = messageOf(cause),
): PublishOutcome {
  const error = new BabelQueueError("publish_failed", `Cannot ${doing}: ${why}`, { cause });
  return { status: "failed", error };
}

/**
 * The outcome of a message that was sent, and of which nothing was heard.
 *
 * @param doing What cannot be confirmed, for instance `publish to 'orders'`.
 * @param cause What ended the wait.
 * @param why The reason in words; by default the cause's.
 */
export function uncertainOutcome(
  doing: string,
  cause: unknown,
  why: string = messageOf(cause),
): PublishOutcome {
  const error = new PublishUncertainError(`Cannot confirm a ${doing}: ${why}`, { cause });
  return { status: "uncertain", error };
}

/**
 * Waits for a promise, at most until the signal is aborted. What the promise rejects with later is
 * swallowed.
 *
 * @param promise What is waited for.
 * @param signal Ends the wait; undefined = nothing does.
 * @param otherwise Gives the result of a wait that was ended, or throws its error; by default the
 * signal's reason.
 * @returns What the promise gives, or `otherwise`.
 */
export async function unlessAborted<T, U = never>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  otherwise: (reason: unknown) => U = raise,
): Promise<T | U> {
  if (signal === undefined) return await promise;
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const abort = (): void => resolve();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([promise, aborted.then(() => otherwise(signal.reason))]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function raise(reason: unknown): never {
  throw reason;
}

/**
 * Gives work a signal that is aborted when its time is over, or when another one is. The work itself
 * ends the wait.
 *
 * @param ms The time, in milliseconds.
 * @param clock Tells it.
 * @param ended Ends it early; undefined = nothing does.
 * @param work The work.
 * @returns What the work gives.
 */
export async function within<T>(
  ms: number,
  clock: Clock,
  ended: AbortSignal | undefined,
  work: (over: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const done = new AbortController();
  const abort = (): void => {
    if (!done.signal.aborted) over.abort();
  };
  ended?.addEventListener("abort", abort, { once: true });
  if (ended?.aborted) abort();
  void pause(clock, ms, done.signal).then(abort);
  try {
    return await work(over.signal);
  } finally {
    done.abort();
    ended?.removeEventListener("abort", abort);
  }
}

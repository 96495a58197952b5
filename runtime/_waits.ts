import type { Clock } from "../core/clock.ts";
import type { Deadlines } from "./_deadlines.ts";

const FIRST_MS = 100;
const LONGEST_MS = 30_000;

/** The wait after the n-th failure in a row (from 1), in milliseconds: doubling from 100 to 30,000, of which chance takes up to a half so that many workers do not come back at once. */
export function backOffMs(failures: number, random: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20));
  return full * (1 - random / 2);
}

/** Sleeps; a clock that rejects on an abort, as timers of some runtimes do, is as good as one that resolves. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return issue(() => clock.sleep(ms, signal)).catch(() => {});
}

/** Makes a call at once, and a promise of whatever comes of it: another promise, a value, or what it throws by itself. */
export function issue<T>(call: () => Promise<T>): Promise<T> {
  try {
    // A promise stays the one it is, and costs nothing more.
    return Promise.resolve(call());
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Waits for `promise`, at most until `signal` is aborted; then rejects with what `reason` gives. The promise's own late rejection is swallowed. */
export function abortable<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  reason: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(reason());
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** What bounds a call. */
export interface Bounds {
  readonly deadlines: Deadlines;
  /** Longest wait, in milliseconds. */
  readonly ms: number;
  /** What ends the wait early. */
  readonly signals: readonly (AbortSignal | undefined)[];
}

/** A signal that says when bounds are over; `end` takes the deadline and the listeners back. */
export function limit(
  { deadlines, ms, signals }: Bounds,
): { readonly signal: AbortSignal; end(): void } {
  const over = new AbortController();
  const abort = (): void => over.abort();
  const deadline = deadlines.add(ms, abort);
  for (const signal of signals) {
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  }
  const end = (): void => {
    deadlines.remove(deadline);
    for (const signal of signals) signal?.removeEventListener("abort", abort);
  };
  return { signal: over.signal, end };
}

/** Makes a call and waits for it within bounds; when they are over it rejects with what `reason` gives. The call is told by its signal. */
export async function bounded<T>(
  bounds: Bounds,
  call: (signal: AbortSignal) => Promise<T>,
  reason: () => Error,
): Promise<T> {
  const { signal, end } = limit(bounds);
  try {
    return await abortable(issue(() => call(signal)), signal, reason);
  } finally {
    end();
  }
}

/** Waits for `promise` at most `ms` milliseconds; whether it ended in time. Never rejects. */
export async function settledWithin(
  promise: Promise<unknown>,
  ms: number,
  clock: Clock,
): Promise<boolean> {
  const sleep = new AbortController();
  const ended = promise.then(() => true, () => true);
  const late = pause(clock, ms, sleep.signal).then(() => false);
  const inTime = await Promise.race([ended, late]);
  sleep.abort();
  return inTime;
}

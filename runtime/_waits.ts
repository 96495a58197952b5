import type { Clock } from "../core/clock.ts";

const FIRST_MS = 100;
const LONGEST_MS = 30_000;

/** The wait after the n-th failure in a row (from 1), in milliseconds: doubling from 100 to 30,000, of which chance takes up to a half so that many workers do not come back at once. */
export function backOffMs(failures: number, random: number): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 20));
  return full * (1 - random / 2);
}

/** Makes a call at once, and a rejection of what it throws by itself. */
export function issue<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
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

/** Waits for `promise` at most `ms` milliseconds; whether it ended in time. Never rejects. */
export async function settledWithin(
  promise: Promise<unknown>,
  ms: number,
  clock: Clock,
): Promise<boolean> {
  const sleep = new AbortController();
  const ended = promise.then(() => true, () => true);
  const late = clock.sleep(ms, sleep.signal).then(() => false);
  const inTime = await Promise.race([ended, late]);
  sleep.abort();
  return inTime;
}

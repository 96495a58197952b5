import { systemClock } from "../core/clock.ts";

/**
 * Resolves in the next turn of the event loop: by then every promise job there is has run, however long
 * the chain. Where there is a `setImmediate` that takes some microseconds, a timer of 0 takes more than
 * a millisecond.
 */
export function turn(): Promise<void> {
  const { setImmediate } = globalThis as { setImmediate?: (run: () => void) => unknown };
  if (setImmediate === undefined) return systemClock.sleep(0);
  return new Promise((resolve) => void setImmediate(() => resolve()));
}

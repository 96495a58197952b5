/** The most time kept back for giving messages back and disconnecting, in milliseconds. */
const RESERVE_MS = 1_000;

/** When a worker that was told to stop does what, in milliseconds of `Clock.elapsed`. */
export interface ShutdownPlan {
  /** Until when handlers may run. */
  readonly handlersUntilMs: number;
  /** When everything ends, finished or not. */
  readonly endsAtMs: number;
}

/**
 * Splits the time for stopping: handlers get all but a tenth of it, at most a second, and what they
 * leave unfinished is given back in the rest. Giving back always has a second. Contract: C164–C168.
 *
 * @param nowMs Now, in milliseconds of `Clock.elapsed`.
 * @param timeoutMs `shutdownTimeoutMs`; 0 = handlers get no time.
 * @param earlier The plan of an earlier stop, which this one can only shorten.
 * @returns The plan.
 */
export function planShutdown(
  nowMs: number,
  timeoutMs: number,
  earlier?: ShutdownPlan,
): ShutdownPlan {
  const handlersUntilMs = nowMs + timeoutMs - Math.min(RESERVE_MS, timeoutMs / 10);
  const endsAtMs = nowMs + Math.max(timeoutMs, RESERVE_MS);
  return {
    handlersUntilMs: Math.min(handlersUntilMs, earlier?.handlersUntilMs ?? Infinity),
    endsAtMs: Math.min(endsAtMs, earlier?.endsAtMs ?? Infinity),
  };
}

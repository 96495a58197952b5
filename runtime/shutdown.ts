/** The most time kept back for giving messages back and disconnecting, in milliseconds. */
const RESERVE_MS = 1_000;

/** When a worker that was told to stop does what. */
export interface ShutdownPlan {
  /** Until when handlers may run, in Unix milliseconds. */
  readonly handlersUntilMs: number;
  /** When everything ends, finished or not, in Unix milliseconds. */
  readonly endsAtMs: number;
}

/**
 * Splits the time for stopping: handlers get all but a tenth of it, at most a second, and what they
 * leave unfinished is given back in the rest. Giving back always has a second. Contract: C164–C168.
 *
 * @param nowMs Now, in Unix milliseconds.
 * @param timeoutMs `shutdownTimeoutMs`; 0 = handlers get no time.
 * @returns The plan.
 */
export function planShutdown(nowMs: number, timeoutMs: number): ShutdownPlan {
  return {
    handlersUntilMs: nowMs + timeoutMs - Math.min(RESERVE_MS, timeoutMs / 10),
    endsAtMs: nowMs + Math.max(timeoutMs, RESERVE_MS),
  };
}

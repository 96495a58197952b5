/** Two signals for `run`: the first request to stop, and the second. */
export interface ShutdownSignals {
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly stop: AbortSignal;
  /** Aborted by the second one. */
  readonly force: AbortSignal;
  /** Stops listening; afterwards the runtime handles the signals itself again. */
  dispose(): void;
}

type Listen = (signal: string, listener: () => void) => void;

interface Runtime {
  /** Names of the two requests to stop; Deno on Windows has no SIGTERM. */
  readonly names: readonly string[];
  readonly add: Listen;
  readonly remove: Listen;
}

/**
 * Listens to SIGINT and SIGTERM on Deno, Bun and Node. Listening alone does not keep a process alive
 * on Bun and Node; a third signal finds nobody listening and ends the process.
 *
 * @returns The two signals.
 * @throws {Error} where there are no process signals, for instance in a browser or a worker thread of
 * Bun or Node.
 *
 * @example Stop in order, and at once when asked twice
 * ```ts
 * import { BabelQueue, memory } from "@bq/core";
 * import { shutdownSignal } from "@bq/core/process";
 *
 * const bq = new BabelQueue(memory(), { deadLetter: true });
 * bq.handle("urn:babel:orders:created", () => {});
 * const { stop, force, dispose } = shutdownSignal();
 * const running = bq.run({ signal: stop, forceSignal: force });
 * await bq.close(); // here; in a service the signal does it
 * await running;
 * dispose();
 * ```
 */
export function shutdownSignal(): ShutdownSignals {
  const runtime = currentRuntime();
  const stop = new AbortController();
  const force = new AbortController();
  const listener = (): void => {
    if (!stop.signal.aborted) return stop.abort();
    force.abort();
    dispose();
  };
  const dispose = (): void => {
    for (const name of runtime.names) runtime.remove(name, listener);
  };
  for (const name of runtime.names) runtime.add(name, listener);
  return { stop: stop.signal, force: force.signal, dispose };
}

/** The part of a runtime's global that is used here. */
interface Globals {
  readonly Deno?: {
    readonly build: { readonly os: string };
    addSignalListener: Listen;
    removeSignalListener: Listen;
  };
  readonly process?: {
    on: Listen;
    off: Listen;
    getBuiltinModule?(name: string): { readonly isMainThread?: boolean } | undefined;
  };
}

function currentRuntime(): Runtime {
  const { Deno: deno, process } = globalThis as Globals;
  if (deno?.addSignalListener) {
    return {
      names: ["SIGINT", deno.build.os === "windows" ? "SIGBREAK" : "SIGTERM"],
      add: (signal, listener) => deno.addSignalListener(signal, listener),
      remove: (signal, listener) => deno.removeSignalListener(signal, listener),
    };
  }
  // In a thread `process` is there, and no signal ever comes.
  const threads = process?.getBuiltinModule?.("node:worker_threads");
  if (process?.on && threads?.isMainThread !== false) {
    return {
      names: ["SIGINT", "SIGTERM"],
      add: (signal, listener) => process.on(signal, listener),
      remove: (signal, listener) => process.off(signal, listener),
    };
  }
  throw new Error("Cannot listen for process signals: there are none here");
}

import { BabelQueueError } from "../core/errors.ts";
import type { Health } from "./health.ts";
import { Worker, type WorkerEnvironment, type WorkerOptions } from "./worker.ts";

/** The workers of one App: at most one a queue, started and stopped together. */
export class Crew {
  readonly #env: WorkerEnvironment;
  readonly #workers: Map<string, Worker> = new Map();
  readonly #runs: Set<Promise<unknown>> = new Set();
  #closed = false;

  constructor(env: WorkerEnvironment) {
    this.#env = env;
  }

  /**
   * Makes workers, all or none; from here on their queues are worked on.
   *
   * @throws {BabelQueueError} `closed`, or `invalid_option` when a queue cannot be worked on.
   */
  hire(wanted: readonly WorkerOptions[]): readonly Worker[] {
    const { deadLetterQueue } = this.#env.options;
    const queues = wanted.map(({ queue }) => queue);
    for (const queue of queues) {
      if (this.#closed) {
        throw new BabelQueueError("closed", `Cannot work on '${queue}': the App is closed`);
      }
      const twice = queues.indexOf(queue) !== queues.lastIndexOf(queue);
      const why = queue === deadLetterQueue
        ? "it is its own dead-letter queue, so what fails would go round for ever"
        : this.#workers.has(queue) || twice
        ? "it is worked on already"
        : undefined;
      if (why) throw new BabelQueueError("invalid_option", `Cannot work on '${queue}': ${why}`);
    }
    const workers = wanted.map((options) => new Worker(this.#env, options));
    for (const worker of workers) this.#workers.set(worker.queue, worker);
    return workers;
  }

  /** Lets hired workers work until they end; one that fails stops the others, which still end in order. */
  async work(
    workers: readonly Worker[],
    signal?: AbortSignal,
    forceSignal?: AbortSignal,
  ): Promise<void> {
    const { hub, options } = this.#env;
    const stop = (): void => workers.forEach((worker) => worker.stop(options.shutdownTimeoutMs));
    const force = (): void => workers.forEach((worker) => worker.stop(0));
    signal?.addEventListener("abort", stop, { once: true });
    forceSignal?.addEventListener("abort", force, { once: true });
    const queues = workers.map((worker) => worker.queue);
    hub.emit({ level: "info", type: "started", queues });
    const runs = workers.map((worker) => worker.run(stop));
    const ended = Promise.allSettled(runs);
    this.#runs.add(ended);
    if (signal?.aborted) stop();
    if (forceSignal?.aborted) force();
    const failed = (await ended).find((result) => result.status === "rejected");
    this.#runs.delete(ended);
    for (const worker of workers) this.#workers.delete(worker.queue);
    signal?.removeEventListener("abort", stop);
    forceSignal?.removeEventListener("abort", force);
    hub.emit({ level: "info", type: "stopped", queues });
    if (failed) throw failed.reason;
  }

  /** Ends the work of all, within `shutdownTimeoutMs`. */
  async stop(): Promise<void> {
    for (const worker of this.#workers.values()) worker.stop(this.#env.options.shutdownTimeoutMs);
    await Promise.allSettled(this.#runs);
  }

  /** As `stop`, and nobody is hired any more. */
  close(): Promise<void> {
    this.#closed = true;
    return this.stop();
  }

  /** How they are doing. */
  health(): Pick<Health, "queues"> & { readonly state: "idle" | "working" | "stopping" } {
    const queues = [...this.#workers.values()].map((worker) => worker.health());
    if (queues.length === 0) return { state: "idle", queues };
    const stopping = queues.every(({ state }) => state === "stopping");
    return { state: stopping ? "stopping" : "working", queues };
  }
}

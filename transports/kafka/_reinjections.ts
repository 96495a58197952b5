import { type Clock, type TransportEvent, unlessAborted } from "@bq/core/transport";
import type { Producing } from "./_producing.ts";
import { Reinjection } from "./_reinjection.ts";
import type { KafkaClient } from "./client.ts";
import type { ResolvedBroker } from "./options.ts";

/** What re-injections inside a worker's process work with. */
export interface ReinjectionsSetup {
  readonly broker: ResolvedBroker;
  readonly client: KafkaClient;
  readonly producing: Producing;
  readonly clock: Clock;
  emit(event: TransportEvent): void;
}

interface Running {
  users: number;
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
}

/** The re-injectors that run beside a transport's subscriptions: one a queue, while it is worked on. */
export class Reinjections {
  readonly #setup: ReinjectionsSetup;
  readonly #running: Map<string, Running> = new Map();
  readonly #ending: Set<Promise<void>> = new Set();

  /** @param setup What they work with. */
  constructor(setup: ReinjectionsSetup) {
    this.#setup = setup;
  }

  /** A queue is worked on. */
  acquire(queue: string): void {
    const running = this.#running.get(queue);
    if (running !== undefined) return void running.users++;
    const stopping = new AbortController();
    const { emit } = this.#setup;
    const ended = new Reinjection({ ...this.#setup, queues: [queue] }).run(stopping.signal).catch(
      (error) => emit({ type: "warning", code: "reinject", message: (error as Error).message }),
    );
    this.#running.set(queue, { users: 1, stopping, ended });
  }

  /** A subscription of the queue has ended; resolves when its re-injector, if it was the last, has too. */
  async release(queue: string): Promise<void> {
    const running = this.#running.get(queue);
    if (running === undefined || --running.users > 0) return;
    this.#running.delete(queue);
    running.stopping.abort();
    const ending = running.ended.finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    await ending;
  }

  /** Ends all of them; `signal` waits no longer. */
  async close(signal: AbortSignal | undefined): Promise<void> {
    for (const running of this.#running.values()) running.users = 1;
    for (const queue of [...this.#running.keys()]) void this.release(queue);
    await unlessAborted(Promise.all([...this.#ending]), signal, () => {});
  }
}

import { MemoryQueue } from "./queue.ts";

/**
 * The queues behind one or more memory transports. A transport without one makes its own; transports
 * that share one are producers and workers of the same queues.
 *
 * @example A producer and a worker in one process
 * ```ts
 * import { BabelQueue, memory, MemoryStore } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const store = new MemoryStore();
 * const producer = new BabelQueue(memory({ store }));
 * const worker = new BabelQueue(memory({ store }), { deadLetter: true });
 *
 * const seen: unknown[] = [];
 * worker.handle("urn:babel:orders:created", (data) => {
 *   seen.push(data);
 * });
 * await producer.publish("urn:babel:orders:created", { order_id: 1042 });
 * await worker.consume({ waitMs: 0 });
 * await producer.close();
 * await worker.close();
 * assert.deepEqual(seen, [{ order_id: 1042 }]);
 * ```
 */
export class MemoryStore {
  readonly #queues: Map<string, MemoryQueue> = new Map();

  /**
   * The queue of that name, if there is one; who only looks makes none.
   *
   * @internal
   */
  find(name: string): MemoryQueue | undefined {
    return this.#queues.get(name);
  }

  /**
   * The queue of that name, made on first use.
   *
   * @internal
   */
  queue(name: string): MemoryQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) this.#queues.set(name, queue = new MemoryQueue());
    return queue;
  }

  /**
   * Forgets the queue of that name when it is empty and nobody subscribes to it: names may be used once.
   *
   * @internal
   */
  tidy(name: string): void {
    if (this.#queues.get(name)?.unused) this.#queues.delete(name);
  }
}

/** One queue on one server, with workers that come and go; counts by serials what became of it. */

import assert from "node:assert/strict";
import { BabelQueue, type BabelQueueOptions } from "@bq/core";
import { RespClient } from "../brokers/mod.ts";
import { eventually, type Runtime } from "../harness.ts";
import { transportOf, URN, type WorkerPlan } from "./_plan.ts";
import { WorkerProcess } from "./_worker.ts";

/** How messages lie in Redis. */
export type Layout = "legacy" | "zset";

/** Both layouts. */
export const LAYOUTS: readonly Layout[] = ["legacy", "zset"];

/** Where a scene takes place. */
export interface SceneOptions {
  readonly layout: Layout;
  /** Port of the server; of one node in a cluster. */
  readonly port: number;
  /** Ports of all nodes, when it is a cluster. */
  readonly cluster?: readonly number[];
  /** Port that workers and publishers connect to; the server's when absent. */
  readonly through?: number;
  /** Seconds until a reservation ends. @default {2} */
  readonly retryAfter?: number;
}

/** What became of the messages. */
export interface Outcome {
  /** Serials that were neither handled nor dead-lettered. */
  readonly lost: readonly number[];
  /** Serials whose handler ended more than once. */
  readonly duplicates: readonly number[];
  /** Serials on the dead-letter queue. */
  readonly dead: readonly number[];
}

/** One test's queue and workers. */
export class Scene {
  readonly #options: SceneOptions;
  readonly #workers: WorkerProcess[] = [];
  readonly #apps: BabelQueue[] = [];
  readonly #published: Set<number> = new Set();
  /** With a hash tag, so that a cluster keeps its keys together. */
  readonly queue: string = `{chaos-${crypto.randomUUID()}}`;

  constructor(options: SceneOptions) {
    this.#options = options;
  }

  /** URL with the layout and the lease. */
  get url(): string {
    const { layout, port, through = port, retryAfter = 2 } = this.#options;
    const query = new URLSearchParams({ retry_after: `${retryAfter}` });
    if (layout === "zset") query.set("laravel", "1");
    return `redis://127.0.0.1:${through}/0?${query}`;
  }

  get #plan(): WorkerPlan {
    return { url: this.url, queue: this.queue, cluster: this.#options.cluster !== undefined };
  }

  /** An App in this process, closed at the end. */
  app(options: BabelQueueOptions = {}): BabelQueue {
    const app = new BabelQueue(transportOf(this.#plan), {
      queue: this.queue,
      onEvent: () => {},
      ...options,
    });
    this.#apps.push(app);
    return app;
  }

  /** Publishes the serials from `from` up to `to`, without `to`. */
  async publish(from: number, to: number): Promise<void> {
    const app = this.app();
    const serials = Array.from({ length: to - from }, (_, i) => from + i);
    await app.publishMany(serials.map((n) => ({ message: URN, data: { n } })));
    for (const n of serials) this.#published.add(n);
    await app.close();
  }

  /** Counts a serial that was published in another way. */
  expect(serial: number): void {
    this.#published.add(serial);
  }

  /** Starts a worker. */
  async worker(plan: Partial<WorkerPlan> = {}, runtime?: Runtime): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start({ ...this.#plan, ...plan }, runtime);
    this.#workers.push(worker);
    return worker;
  }

  /** How often a serial's handler ended, in all workers. */
  doneTimes(serial: number): number {
    return this.#workers.reduce((sum, { done }) => sum + (done.get(serial) ?? 0), 0);
  }

  /** How many serials were done at least once. */
  get doneCount(): number {
    return [...this.#published].filter((n) => this.doneTimes(n) > 0).length;
  }

  /** Talks to the server; in a cluster to the node that has the queue. */
  async withServer<T>(use: (client: RespClient) => Promise<T>): Promise<T> {
    const { port, cluster = [port] } = this.#options;
    for (const node of cluster) {
      const client = await RespClient.connect(node);
      try {
        if (cluster.length > 1 && !await owns(client, this.key)) continue;
        return await use(client);
      } finally {
        await client.close();
      }
    }
    throw new Error(`Cannot find the node that has '${this.key}'`);
  }

  /** The key of the queue's waiting messages. */
  get key(): string {
    return this.#options.layout === "zset" ? `queues:${this.queue}` : this.queue;
  }

  /** The key of its dead-letter queue. */
  get deadKey(): string {
    return `${this.key}.dlq`;
  }

  /** How many messages the queue holds, in whatever state. */
  size(): Promise<number> {
    const { key } = this;
    const counts = this.#options.layout === "zset"
      ? [["LLEN", key], ["ZCARD", `${key}:delayed`], ["ZCARD", `${key}:reserved`]]
      // A reservation stands in both keys; one that is left in either would be a fault.
      : [["LLEN", key], ["LLEN", `${key}:processing`], ["ZCARD", `${key}:processing:deadlines`]];
    return this.withServer(async (client) => {
      let sum = 0;
      for (const command of counts) sum += Number(await client.call(...command));
      return sum;
    });
  }

  /** Waits until the queue is empty, with a worker at work. */
  async drained(timeoutMs: number = 120_000): Promise<void> {
    await eventually(async () => {
      assert.equal(await this.size(), 0, `messages left after ${this.doneCount} were done`);
    }, { timeoutMs });
  }

  /** Counts. Call it when the queue is empty and the workers have ended. */
  async outcome(): Promise<Outcome> {
    const records = await this.withServer((client) => client.list("LRANGE", this.deadKey, 0, -1));
    const dead = records.map((record) => Number(JSON.parse(record).data.n));
    const lost = [...this.#published].filter((n) => this.doneTimes(n) === 0 && !dead.includes(n));
    const duplicates = [...this.#published].filter((n) => this.doneTimes(n) > 1);
    return { lost, duplicates, dead: dead.sort((a, b) => a - b) };
  }

  /** Ends what is left of the scene. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.kill()));
    await Promise.all(this.#apps.map((app) => app.close()));
  }
}

/** Plays one scene and clears it away. */
export async function play(
  options: SceneOptions,
  act: (scene: Scene) => Promise<void>,
): Promise<void> {
  const scene = new Scene(options);
  try {
    await act(scene);
  } finally {
    await scene.close();
  }
}

/** Whether a node answers for a key itself. */
async function owns(client: RespClient, key: string): Promise<boolean> {
  try {
    await client.call("EXISTS", key);
    return true;
  } catch (error) {
    if (/^MOVED/.test((error as Error).message)) return false;
    throw error;
  }
}

/** One queue on one broker, with workers that come and go; counts by serials what became of it. */

import assert from "node:assert/strict";
import { BabelQueue, type BabelQueueOptions } from "@bq/core";
import { eventually, type Runtime } from "../harness.ts";
import { transportOf, URN, type WorkerPlan } from "./_plan.ts";
import { type Ended, WorkerProcess } from "./_worker.ts";

/** What became of the messages. */
export interface Outcome {
  /** Serials that were neither handled nor dead-lettered. */
  readonly lost: readonly number[];
  /** Serials whose handler ended more than once. */
  readonly duplicates: readonly number[];
  /** Serials on the dead-letter queue. */
  readonly dead: readonly number[];
}

/** One test's queue and workers; each broker says where it is and how it is counted. */
export abstract class BrokerScene {
  readonly #workers: WorkerProcess[] = [];
  readonly #apps: BabelQueue[] = [];
  readonly #published: Set<number> = new Set();
  /** With a hash tag, so that a cluster keeps its keys together. */
  readonly queue: string = `{chaos-${crypto.randomUUID()}}`;

  /** Where workers and publishers connect to. */
  abstract get url(): string;
  /** How many messages the queue holds, in whatever state. */
  abstract size(): Promise<number>;
  /** The bodies on the dead-letter queue. */
  abstract deadRecords(): Promise<readonly string[]>;

  /** What a worker wrote on standard error beyond what its client always writes. */
  protected complaints(stderr: string): string {
    return stderr;
  }

  /** Fails unless a worker ended by itself, without a complaint. */
  assertInOrder({ code, stderr }: Ended): void {
    assert.deepEqual({ code, stderr: this.complaints(stderr) }, { code: 0, stderr: "" });
  }

  /** What every worker is told. */
  protected get plan(): WorkerPlan {
    return { url: this.url, queue: this.queue };
  }

  /** An App in this process, closed at the end. */
  app(options: BabelQueueOptions = {}): BabelQueue {
    const app = new BabelQueue(transportOf(this.plan), {
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
    const worker = await WorkerProcess.start({ ...this.plan, ...plan }, runtime);
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

  /** Waits until the queue is empty, with a worker at work. */
  async drained(timeoutMs: number = 120_000): Promise<void> {
    await eventually(async () => {
      assert.equal(await this.size(), 0, `messages left after ${this.doneCount} were done`);
    }, { timeoutMs });
  }

  /** Counts. Call it when the queue is empty and the workers have ended. */
  async outcome(): Promise<Outcome> {
    const records = await this.deadRecords();
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

/** Plays a scene and clears it away. */
export async function playScene<S extends BrokerScene>(
  scene: S,
  act: (scene: S) => Promise<void>,
): Promise<void> {
  try {
    await act(scene);
  } finally {
    await scene.close();
  }
}

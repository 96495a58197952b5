/** One queue on one Redis, with workers that come and go. */

import { RespClient, type RunningBroker } from "../brokers/mod.ts";
import { BrokerScene, playScene } from "./_broker_scene.ts";
import type { WorkerPlan } from "./_plan.ts";
import type { Stage } from "./_stage.ts";

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

/** One test's queue and workers. */
export class Scene extends BrokerScene {
  readonly #options: SceneOptions;

  constructor(options: SceneOptions) {
    super();
    this.#options = options;
  }

  /** URL with the layout and the lease. */
  override get url(): string {
    const { layout, port, through = port, retryAfter = 2 } = this.#options;
    const query = new URLSearchParams({ retry_after: `${retryAfter}` });
    if (layout === "zset") query.set("laravel", "1");
    return `redis://127.0.0.1:${through}/0?${query}`;
  }

  protected override get plan(): WorkerPlan {
    return { ...super.plan, cluster: this.#options.cluster !== undefined };
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
  override size(): Promise<number> {
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

  /** The bodies on its dead-letter queue. */
  override deadRecords(): Promise<readonly string[]> {
    return this.withServer((client) => client.list("LRANGE", this.deadKey, 0, -1));
  }
}

/** Plays one scene and clears it away. */
export function play(options: SceneOptions, act: (scene: Scene) => Promise<void>): Promise<void> {
  return playScene(new Scene(options), act);
}

/** One layout on one Redis as a stage. */
export function redisStage(
  ignore: boolean,
  layout: Layout,
  broker: () => RunningBroker,
): Stage<Scene> {
  return {
    name: layout,
    ignore,
    broker,
    play: (act, { longLeases = false, ...staging } = {}) =>
      play({ layout, port: broker().port, retryAfter: longLeases ? 600 : 2, ...staging }, act),
  };
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

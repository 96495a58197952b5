/** One queue on one RabbitMQ, with workers that come and go. */

import type { RunningRabbitmq } from "../brokers/mod.ts";
import { Admin } from "../rabbitmq/admin.ts";
import { BrokerScene, playScene } from "./_broker_scene.ts";
import type { Stage } from "./_stage.ts";

/** Where a scene takes place. */
export interface RabbitmqSceneOptions {
  readonly broker: RunningRabbitmq;
  /** Port that workers and publishers connect to; the broker's when absent. */
  readonly through?: number;
  /** Type of the queue. @default {"classic"} */
  readonly type?: "classic" | "quorum";
}

/** One test's queue and workers. */
export class RabbitmqScene extends BrokerScene {
  readonly #options: RabbitmqSceneOptions;

  constructor(options: RabbitmqSceneOptions) {
    super();
    this.#options = options;
  }

  override get url(): string {
    const { broker, through = broker.port } = this.#options;
    return `amqp://guest:guest@127.0.0.1:${through}`;
  }

  /** Makes the queue. */
  async prepare(): Promise<void> {
    const { type = "classic" } = this.#options;
    await this.#with((admin) => admin.declare(this.queue, { "x-queue-type": type }));
  }

  /** Ready and with a worker; the second is only asked for when nothing is ready, since it takes a while. */
  override async size(): Promise<number> {
    const ready = await this.#with((admin) => admin.count(this.queue)) ?? 0;
    return ready > 0 ? ready : await this.unsettled();
  }

  /** Messages that wait, and messages that are with a worker and not settled. */
  async unsettled(): Promise<number> {
    const columns = ["name", "messages_ready", "messages_unacknowledged"];
    const table = await this.#options.broker.ctl("list_queues", ...columns);
    const row = table.split("\n").find((line) => line.startsWith(`${this.queue}\t`)) ?? "\t0\t0";
    const [, ready, unacknowledged] = row.split("\t").map(Number);
    return ready! + unacknowledged!;
  }

  override async deadRecords(): Promise<readonly string[]> {
    return await this.#with(async (admin) => {
      const records: string[] = [];
      const queue = `${this.queue}.dlq`;
      for (let left = await admin.count(queue) ?? 0; left > 0; left--) {
        records.push((await admin.take(queue)).content.toString());
      }
      return records;
    });
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#with(async (admin) => {
      await admin.delete(this.queue);
      await admin.delete(`${this.queue}.dlq`);
    });
  }

  /** Not through the proxy, and on a connection of its own, since brokers come and go here. */
  async #with<T>(use: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = await Admin.open(this.#options.broker.url, { keep: true });
    try {
      return await use(admin);
    } finally {
      await admin.close();
    }
  }
}

/** One RabbitMQ as a stage. */
export function rabbitmqStage(
  ignore: boolean,
  broker: () => RunningRabbitmq,
): Stage<RabbitmqScene> {
  return {
    name: "rabbitmq",
    ignore,
    broker,
    play: (act, staging) => playOnRabbitmq({ broker: broker(), ...staging }, act),
  };
}

/** Plays one scene and clears it away. */
export async function playOnRabbitmq(
  options: RabbitmqSceneOptions,
  act: (scene: RabbitmqScene) => Promise<void>,
): Promise<void> {
  const scene = new RabbitmqScene(options);
  await scene.prepare();
  await playScene(scene, act);
}

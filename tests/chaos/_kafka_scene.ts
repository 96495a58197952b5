/** One queue on one Kafka, with workers that come and go. */

import { createTopics, retryTopic } from "@bq/kafka";
import type { RunningBroker } from "../brokers/mod.ts";
import { type Lab, openLab, text } from "../kafka/lab.ts";
import { BrokerScene, playScene } from "./_broker_scene.ts";
import { KAFKA_TIERS_MS, kafkaGroup } from "./_plan.ts";
import type { Stage } from "./_stage.ts";

/** Partitions of a scene's topic, and so the most records in hand at a time. */
export const PARTITIONS = 6;

/** One test's queue and workers. */
export class KafkaScene extends BrokerScene {
  override readonly queue: string = `chaos-${crypto.randomUUID()}`;
  readonly #broker: RunningBroker;
  readonly #lab: Lab;

  constructor(broker: RunningBroker) {
    super();
    this.#broker = broker;
    this.#lab = openLab(broker);
  }

  override get url(): string {
    return this.#broker.url;
  }

  /** Makes the topics of the scene's queue, or of another one. */
  async prepare(queue: string = this.queue): Promise<void> {
    await createTopics(this.#lab.client, [queue], {
      retryTiersMs: KAFKA_TIERS_MS,
      partitions: PARTITIONS,
    });
  }

  /** What no group has committed, on the work topic and on the tiers. */
  override async size(): Promise<number> {
    const { groupId, reinjectGroupId } = kafkaGroup(this.queue);
    const tiers = KAFKA_TIERS_MS.map((_, index) => retryTopic(this.queue, index + 1));
    const lags = [this.#lag(groupId, this.queue)];
    for (const tier of tiers) lags.push(this.#lag(reinjectGroupId, tier));
    return (await Promise.all(lags)).reduce((sum, lag) => sum + lag, 0);
  }

  override async deadRecords(): Promise<readonly string[]> {
    return (await this.#lab.read(`${this.queue}.dlq`)).map(({ value }) => text(value));
  }

  /** The client sets one timer of a negative length, which newer runtimes remark upon. */
  protected override complaints(stderr: string): string {
    return stderr.split("\n").filter((line) => !/Timeout|--trace-warnings/.test(line)).join("\n");
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#lab.close();
  }

  async #lag(groupId: string, topic: string): Promise<number> {
    const { client } = this.#lab;
    const [ranges, committed] = await Promise.all([
      client.ranges(topic),
      client.committed(groupId, topic),
    ]);
    let lag = 0n;
    for (const { partition, low, high } of ranges) lag += high - (committed.get(partition) ?? low);
    return Number(lag);
  }
}

/** One Kafka as a stage. */
export function kafkaStage(ignore: boolean, broker: () => RunningBroker): Stage<KafkaScene> {
  return {
    name: "kafka",
    ignore,
    broker,
    play: (act) =>
      playScene(new KafkaScene(broker()), async (scene) => {
        await scene.prepare();
        await act(scene);
      }),
  };
}

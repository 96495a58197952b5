/** One queue on one Artemis, with workers that come and go. */

import { artemis, type ArtemisTransport } from "@bq/artemis";
import { context } from "../_context.ts";
import type { RunningArtemis } from "../brokers/mod.ts";
import { BrokerScene, playScene } from "./_broker_scene.ts";
import type { Stage } from "./_stage.ts";

/** Where a scene takes place. */
export interface ArtemisSceneOptions {
  readonly broker: RunningArtemis;
  /** Port that workers and publishers connect to; the broker's when absent. */
  readonly through?: number;
}

/** One test's queue and workers. */
export class ArtemisScene extends BrokerScene {
  readonly #options: ArtemisSceneOptions;
  #observer: Promise<ArtemisTransport> | undefined;

  constructor(options: ArtemisSceneOptions) {
    super();
    this.#options = options;
  }

  override get url(): string {
    const { broker, through = broker.port } = this.#options;
    return `artemis://127.0.0.1:${through}`;
  }

  /** Ready, delayed and in flight. */
  override async size(): Promise<number> {
    const { ready, delayed, inFlight } = await (await this.#observe()).size(this.queue);
    return ready + delayed + inFlight;
  }

  /** Messages that are with a worker and not settled. */
  async unsettled(): Promise<number> {
    return (await (await this.#observe()).size(this.queue)).inFlight;
  }

  override async deadRecords(): Promise<readonly string[]> {
    const records: string[] = [];
    for await (
      const { body } of (await this.#observe()).peek(`${this.queue}.dlq`, { max: 8_000 })
    ) {
      records.push(new TextDecoder().decode(body));
    }
    return records;
  }

  override async close(): Promise<void> {
    await super.close();
    await (await this.#observer)?.close();
  }

  /** Its own connection, straight to the broker. */
  async #observe(): Promise<ArtemisTransport> {
    this.#observer ??= (async () => {
      const transport = artemis(this.#options.broker.url);
      await transport.open(context());
      return transport;
    })();
    return await this.#observer;
  }
}

/** One Artemis as a stage. */
export function artemisStage(ignore: boolean, broker: () => RunningArtemis): Stage<ArtemisScene> {
  return {
    name: "artemis",
    ignore,
    broker,
    play: (act, staging) => playScene(new ArtemisScene({ broker: broker(), ...staging }), act),
  };
}

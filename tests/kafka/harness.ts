/**
 * Kafka as the transport suite and the tests beside it use it.
 *
 * @module
 */

import type { SuiteFeatures, TransportHarness } from "@bq/core/testing";
import { kafka, type KafkaOptions } from "@bq/kafka";
import type { RunningBroker } from "../brokers/mod.ts";
import { FAST, fresh, openLab } from "./lab.ts";

/** What a harness runs on. */
export interface KafkaWorld {
  readonly broker: RunningBroker;
  /** Retry tiers; none when it is empty. */
  readonly tiersMs: readonly number[];
  readonly options?: KafkaOptions;
  /** Makes the options that bring another client than the transport's own. */
  given?(broker: RunningBroker): KafkaOptions;
}

/** What the suite may try on Kafka. */
export const FEATURES: SuiteFeatures = {
  failWrites: true,
  versionGate: true,
  clockMs: 50,
  quietMs: 300,
  skip: {
    "a message whose lease has ended goes to another worker; without leases it stays":
      "there is no lease, and whoever joins the group takes partitions over; tests/kafka/group_test.ts has what becomes of records in hand",
    "a handler that takes longer than the lease keeps its message":
      "there is no lease, and whoever joins the group takes partitions over; tests/kafka/group_test.ts has handlers beyond the session time-out",
    "a worker that cannot write records goes on with its other messages":
      "head-of-line blocking of the partition is accepted (K14); tests/kafka/trouble_test.ts shows that the other partitions go on",
  },
};

/** Prepares Kafka for one test of the suite. */
export function kafkaHarness(world: KafkaWorld): TransportHarness {
  const { broker, tiersMs, given } = world;
  const lab = openLab(broker);
  const queues: string[] = [];
  // A group of its own: one for all tests would be assigned anew whenever any of them comes or goes.
  const groups = { groupId: fresh("group"), reinjectGroupId: fresh("reinject") };
  return {
    transport: () =>
      kafka({
        ...(given?.(broker) ?? { url: broker.url }),
        ...FAST,
        ...groups,
        retryTiersMs: tiersMs,
        reinject: tiersMs.length > 0,
        ...world.options,
      }),
    async queue() {
      const queue = fresh();
      queues.push(queue);
      await lab.topics([queue], { retryTiersMs: tiersMs });
      return queue;
    },
    async publishVersion(queue, body, version) {
      await lab.write(queue, [{ value: body, headers: { "bq-schema-version": version } }]);
    },
    async failWrites(on) {
      const settings = { "max.message.bytes": on ? "1" : "1048588" };
      await lab.configure(queues.map((queue) => `${queue}.dlq`), settings);
    },
    restartBroker: () => broker.restart(),
    close: () => lab.close(),
  };
}

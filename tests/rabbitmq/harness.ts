/**
 * RabbitMQ as the transport suite uses it: classic and quorum queues, pushed and fetched messages.
 *
 * @module
 */

import { rabbitmq, type RabbitmqOptions } from "@bq/rabbitmq";
import type { SuiteFeatures, TransportHarness } from "@bq/core/testing";
import type { RunningBroker } from "../brokers/mod.ts";
import { Admin } from "./admin.ts";

/** What the suite may try. The shortest delay queue holds a message for a second. */
export const FEATURES: SuiteFeatures = { failWrites: true, quietMs: 300, clockMs: 400 };

/** Tests that spend seconds waiting for a clock, and that no mode makes a difference to. */
const SLOW: Readonly<Record<string, string>> = Object.fromEntries([
  "a delayed message comes in its time, or is refused where publishes cannot be delayed",
  "the wait before a retry passes",
  "the wait that a handler asks for passes",
  "a handler that takes longer than the lease keeps its message",
].map((title) => [title, "run once, with the default mode"]));

/** What the suite tries in every further mode. */
export function quickFeatures(): SuiteFeatures {
  return { ...FEATURES, quietMs: 100, skip: SLOW };
}

/** A queue that takes nothing: each publish is refused. */
const FULL = { "x-max-length": 0, "x-overflow": "reject-publish" };

/** Prepares RabbitMQ for one test of the suite. */
export async function rabbitmqHarness(
  broker: RunningBroker,
  options: RabbitmqOptions = {},
): Promise<TransportHarness> {
  const admin = await Admin.open(broker.url);
  const queues: string[] = [];
  const given = options.connection === undefined ? { url: broker.url } : {};
  return {
    transport: () => rabbitmq({ delayQueues: true, pollIntervalMs: 50, ...given, ...options }),
    queue() {
      const queue = admin.queue();
      queues.push(queue);
      return queue;
    },
    async failWrites(on) {
      for (const queue of queues) {
        await admin.delete(`${queue}.dlq`);
        if (on) await admin.declare(`${queue}.dlq`, FULL);
      }
    },
    restartBroker: () => broker.restart(),
    close: () => admin.close(),
  };
}

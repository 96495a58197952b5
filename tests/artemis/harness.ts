/**
 * Artemis as the transport suite and the tests beside it use it.
 *
 * @module
 */

import { artemis, type ArtemisOptions, type ArtemisTransport } from "@bq/artemis";
import type { TransportContext } from "@bq/core/transport";
import type { SuiteFeatures, TransportHarness } from "@bq/core/testing";
import { context } from "../_context.ts";
import type { RunningBroker } from "../brokers/mod.ts";
import { Peer } from "./peer.ts";

/** What the suite may try on Artemis. */
export const FEATURES: SuiteFeatures = {
  versionGate: true,
  restartBroker: true,
  failWrites: true,
  clockMs: 200,
  quietMs: 200,
};

/** A name that no test has used before. */
export function freshQueue(): string {
  return `q-${crypto.randomUUID()}`;
}

/** An open transport. */
export async function opened(
  options: string | ArtemisOptions,
  more: Partial<TransportContext> = {},
): Promise<ArtemisTransport> {
  const transport = artemis(options);
  await transport.open(context(more));
  return transport;
}

/** Lets another client do something. */
export async function withPeer<T>(port: number, use: (peer: Peer) => Promise<T>): Promise<T> {
  const peer = await Peer.connect(port);
  try {
    return await use(peer);
  } finally {
    await peer.close();
  }
}

/** Prepares Artemis for one test of the suite. */
export function artemisHarness(
  broker: RunningBroker,
  make: () => ArtemisTransport = () => artemis(broker.url),
): TransportHarness {
  const queues: string[] = [];
  return {
    transport: make,
    queue() {
      const queue = freshQueue();
      queues.push(queue);
      return queue;
    },
    async publishVersion(queue, body, version) {
      await withPeer(broker.port, (peer) =>
        peer.send(queue, {
          body: new TextDecoder().decode(body),
          application_properties: { bq_schema_version: version },
        }));
    },
    async failWrites(on) {
      // A dead-letter queue that the broker may not create takes no link.
      const settings = JSON.stringify({ autoCreateQueues: false, autoCreateAddresses: false });
      await withPeer(broker.port, async (peer) => {
        for (const queue of queues) {
          const dead = `${queue}.dlq`;
          if (on) await peer.manage("broker", "addAddressSettings", dead, settings);
          else await peer.manage("broker", "removeAddressSettings", dead);
        }
      });
    },
    restartBroker: () => broker.restart(),
  };
}

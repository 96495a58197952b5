/**
 * What our worker and another implementation's have to do with each other's messages on one Redis.
 *
 * @module
 */

import { aroundFile, startRedis } from "../brokers/mod.ts";
import { test as register } from "../harness.ts";
import type { RunningBroker } from "../brokers/mod.ts";
import { exchangeTests } from "./_exchange.ts";
import { lateSettleTests } from "./_late_settle.ts";
import type { Peer } from "./peer.ts";
import { sharedQueueTests } from "./_shared_queue.ts";
import { takeOverTests } from "./_take_over.ts";
import { type Layout, Ours } from "./_world.ts";

/** How an implementation differs from the others, as its own documentation says. */
export interface PeerTraits {
  readonly name: string;
  /** What its handler is told on the first delivery. */
  readonly firstAttempt: 0 | 1;
  /** Whether it writes dead-letter records; Laravel drops the message. */
  readonly deadLetters: boolean;
  /** Whether a release that comes too late is written all the same, so that the message comes again. */
  readonly ungatedRelease: boolean;
}

/** One test's view. */
export interface Exchange {
  readonly ours: Ours;
  readonly peer: Peer;
  readonly traits: PeerTraits;
  /** A queue of the test's own. */
  readonly queue: string;
}

/** A test of the suite. */
export interface InteropTest {
  readonly title: string;
  /** Layouts it is about; all when absent. */
  readonly layouts?: readonly Layout[];
  /** Whether it is about a peer like this; every one when absent. */
  readonly when?: (traits: PeerTraits, layout: Layout) => boolean;
  run(exchange: Exchange): Promise<void>;
}

const TESTS: readonly InteropTest[] = [
  ...exchangeTests,
  ...takeOverTests,
  ...lateSettleTests,
  ...sharedQueueTests,
];

/** Tests take what they need; a shared queue of 10,000 messages is the longest. */
const TIMEOUT_MS = 300_000;

/**
 * Registers the tests of a peer, on one server of the file.
 *
 * @param ignore Whether they are skipped.
 * @param layouts Layouts that the peer speaks.
 * @param traitsOf How it behaves in a layout.
 * @param start Starts it on a server.
 */
export function interopTests(
  ignore: boolean,
  layouts: readonly Layout[],
  traitsOf: (layout: Layout) => PeerTraits,
  start: (url: string, layout: Layout) => Promise<Peer>,
): void {
  let broker: RunningBroker | undefined;
  const peers: Map<Layout, Peer> = new Map();
  if (!ignore) {
    aroundFile(async () => {
      broker = await startRedis();
      for (const layout of layouts) peers.set(layout, await start(broker.url, layout));
    }, async () => {
      for (const peer of peers.values()) await peer.close();
      await broker?.stop();
    });
  }
  for (const layout of layouts) {
    const traits = traitsOf(layout);
    for (const { title, layouts: only, when, run } of TESTS) {
      if (only?.includes(layout) === false || when?.(traits, layout) === false) continue;
      register(`${traits.name}, ${layout}: ${title}`, async () => {
        const peer = peers.get(layout);
        if (broker === undefined || peer === undefined) throw new Error("Cannot run: no peer");
        const queue = `interop-${crypto.randomUUID()}`;
        await run({ ours: new Ours(broker.port, layout), peer, traits, queue });
      }, { ignore, timeoutMs: TIMEOUT_MS });
    }
  }
}

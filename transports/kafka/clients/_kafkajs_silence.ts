/**
 * Notices a consumer of `kafkajs` that hangs. A request that meets the end of a broken connection may
 * wait for good: its time-out ends with the connection, and the client says nothing.
 */

import type { Clock } from "@bq/core/transport";
import type { KafkajsConsumer } from "./_kafkajs_like.ts";

/** Steps of waiting after which it hangs: a process that was asleep has missed one, however long it was. */
const STEPS = 10;

/** What is listened to, and for how long. */
export interface Watch {
  /** The consumer. */
  readonly consumer: Pick<KafkajsConsumer, "on">;
  /** How long it may be silent, in milliseconds; up to a tenth more is not noticed. */
  readonly limitMs: number;
  /** Time. */
  readonly clock: Clock;
  /** Ends the watch. */
  readonly over: AbortSignal;
}

/**
 * Listens until a consumer gives no sign of life, or one of its fetches does not end.
 *
 * @returns Whether it hangs; false when the watch was ended.
 */
export async function hangs({ consumer, limitMs, clock, over }: Watch): Promise<boolean> {
  let silent = 0;
  /** How long fetches are under way, in steps, by the broker. */
  const fetching = new Map<unknown, number>();
  const signs: Readonly<Record<string, (payload: unknown) => void>> = {
    "consumer.network.request": () => {},
    "consumer.fetch_start": (payload) => fetching.set((payload as Fetch).nodeId, 0),
    "consumer.fetch": (payload) => fetching.delete((payload as Fetch).nodeId),
    "consumer.group_join": () => fetching.clear(),
  };
  const stop = Object.entries(signs).map(([name, sign]) =>
    consumer.on(name, ({ payload }) => {
      silent = 0;
      sign(payload);
    })
  );
  while (!over.aborted && Math.max(silent, ...fetching.values()) <= STEPS) {
    await clock.sleep(limitMs / STEPS, over);
    silent++;
    for (const [broker, steps] of fetching) fetching.set(broker, steps + 1);
  }
  for (const end of stop) end();
  return !over.aborted;
}

interface Fetch {
  readonly nodeId: unknown;
}

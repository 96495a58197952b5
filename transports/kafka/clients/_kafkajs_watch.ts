/**
 * Notices a consumer of `kafkajs` that is a member of its group no more and does not say so. It may
 * hang: the time-out of a request ends with its connection, and one that meets the end of it can wait
 * for good. Or it fetches on: when a join anew fails in the wrong moment, it forgets that it has to join.
 */

import type { ConsumerSetup } from "../client.ts";
import type { KafkajsConsumer } from "./_kafkajs_like.ts";

/** How long the client may be silent beyond what the group may ask of it, in milliseconds. */
const SILENCE_MS = 10_000;
/** Steps of waiting after which it hangs: a process that was asleep has missed one, however long it was. */
const STEPS = 10;
/** Answers that lead to a membership. Others say nothing: commits go on beside a consumer that hangs. */
const JOINING: ReadonlySet<unknown> = new Set(["JoinGroup", "SyncGroup"]);

/** What is watched. */
export interface Watch {
  /** The consumer. */
  readonly consumer: Pick<KafkajsConsumer, "on">;
  /** How it works. */
  readonly setup: Pick<ConsumerSetup, "sessionTimeoutMs" | "rebalanceTimeoutMs" | "clock">;
  /** Ends the watch. */
  readonly over: AbortSignal;
}

interface Payload {
  /** What was asked for. */
  readonly apiName: string;
  /** The broker that is fetched from. */
  readonly nodeId: unknown;
}

/**
 * Watches a consumer until it has to be given up.
 *
 * @returns Why; undefined when the watch was ended.
 */
export async function faultOf({ consumer, setup, over }: Watch): Promise<string | undefined> {
  const { sessionTimeoutMs, rebalanceTimeoutMs, clock } = setup;
  const limitMs = Math.max(sessionTimeoutMs, rebalanceTimeoutMs) + SILENCE_MS;
  const ended = new AbortController();
  let fault: string | undefined;
  const end = (why?: string): void => {
    fault ??= why;
    ended.abort();
  };
  const stop = (): void => end();
  over.addEventListener("abort", stop, { once: true });
  if (over.aborted) stop();

  /** Since it was a member last, or was on its way to be: in steps, and when that was. */
  let silent = 0;
  let memberAtMs = clock.elapsed();
  const member = (): void => {
    silent = 0;
    memberAtMs = clock.elapsed();
  };
  /** How long fetches are under way, in steps, by the broker. */
  const fetching = new Map<unknown, number>();
  const signs: Readonly<Record<string, (payload: Partial<Payload>) => void>> = {
    "consumer.connect": member,
    "consumer.heartbeat": member,
    "consumer.network.request": ({ apiName }) => {
      if (JOINING.has(apiName)) member();
    },
    "consumer.group_join": () => {
      member();
      fetching.clear();
    },
    "consumer.fetch_start": ({ nodeId }) => {
      fetching.set(nodeId, 0);
      if (clock.elapsed() - memberAtMs <= sessionTimeoutMs) return;
      end(
        `the client fetches on, without a sign of life for its session of ${sessionTimeoutMs} ms`,
      );
    },
    "consumer.fetch": ({ nodeId }) => fetching.delete(nodeId),
  };
  const listening = Object.entries(signs).map(([name, sign]) =>
    consumer.on(name, ({ payload }) => sign(payload as Partial<Payload>))
  );
  while (!ended.signal.aborted) {
    await clock.sleep(limitMs / STEPS, ended.signal);
    silent++;
    for (const [broker, steps] of fetching) fetching.set(broker, steps + 1);
    if (Math.max(silent, ...fetching.values()) > STEPS) end(`the client hangs for ${limitMs} ms`);
  }
  for (const endListening of listening) endListening();
  over.removeEventListener("abort", stop);
  return fault;
}

/** A member of a group that does as it is told, with one record in its only partition. */

import type {
  ConsumerEvents,
  IncomingRecord,
  KafkaConsumer,
  TopicPartition,
} from "../../transports/kafka/client.ts";

/** What one commit meets; it throws for a refusal. */
export type Answer = (events: ConsumerEvents) => void | Promise<void>;

/** The consumer, and what it was asked to do. */
export interface Scripted {
  /** Makes it. */
  consumer(events: ConsumerEvents): KafkaConsumer;
  /** Hands the record to whoever made it. */
  bring(): void;
  /** The offset of every commit that was not refused. */
  readonly committed: readonly bigint[];
}

/** A consumer of a place, whose commits are answered in turn; those beyond the answers are accepted. */
export function scripted(place: TopicPartition, answers: readonly Answer[] = []): Scripted {
  const record: IncomingRecord = {
    ...place,
    offset: 7n,
    key: null,
    value: new Uint8Array([0x7b, 0x7d]),
    headers: [],
    timestampMs: 0,
  };
  const committed: bigint[] = [];
  const left = [...answers];
  let told: ConsumerEvents | undefined;
  return {
    committed,
    bring: () => void told!.records(place, [record], 8n),
    consumer(events) {
      told = events;
      return {
        start: () => Promise.resolve(events.assigned("me", [place])).then(() => {}),
        commit: ([{ offset } = { offset: 0n }]) =>
          Promise.resolve().then(async () => {
            await left.shift()?.(events);
            committed.push(offset);
          }),
        stop: () => Promise.resolve(),
      };
    },
  };
}

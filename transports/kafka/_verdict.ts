import {
  BabelQueueError,
  SettleWriteError,
  type TransportContext,
  type Verdict,
} from "@bq/core/transport";
import { textOf } from "./_errors.ts";
import type { IncomingRecord, OutgoingRecord } from "./client.ts";
import { deadLetterRecord, retryRecord } from "./project.ts";

/** What a record depends on beside its verdict. */
export interface VerdictPlace {
  /** Name of the queue. */
  readonly queue: string;
  /** Its topic. */
  readonly topic: string;
  /** The retry tiers. */
  readonly tiersMs: readonly number[];
  /** Time. */
  readonly context: Pick<TransportContext, "clock">;
  /** The topic of a queue. */
  topicOf(queue: string): string;
}

/**
 * The record that a verdict wants written before the commit.
 *
 * @param source The record that is settled.
 * @param verdict How.
 * @param from Where it was received.
 * @returns Null when it goes back to its place, undefined when nothing is to be written.
 * @throws {SettleWriteError} when the record cannot be made, for instance since no topic can be named
 * so: it is as good as not written. Contract: K14.
 */
export function recordFor(
  source: IncomingRecord,
  verdict: Verdict,
  from: VerdictPlace,
): OutgoingRecord | null | undefined {
  const { queue, topic, tiersMs, context: { clock } } = from;
  const place = { topic, tiersMs, nowMs: clock.now() };
  switch (verdict.kind) {
    case "ack":
      return undefined;
    case "return":
    case "leave":
      return null;
    case "retry":
      return made(queue, () => retryRecord(source, verdict, place));
    case "deadLetter":
      return made(
        queue,
        () => deadLetterRecord(source, verdict, from.topicOf(verdict.queue), place),
      );
    case "release":
    case "deadLetterNatively":
      throw new BabelQueueError(
        "unsupported",
        `Cannot settle a message of '${queue}' with '${verdict.kind}': Kafka has no such thing of its own`,
      );
  }
}

function made(queue: string, make: () => OutgoingRecord): OutgoingRecord {
  try {
    return make();
  } catch (error) {
    const text = `Cannot make a record of a message of '${queue}': ${textOf(error)}`;
    throw new SettleWriteError(text, { cause: error });
  }
}

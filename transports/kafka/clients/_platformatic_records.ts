import type { IncomingRecord, RecordHeaders } from "../client.ts";

/** A batch of records as `@platformatic/kafka` decodes it. */
export interface RecordsBatch {
  /** Offset of its first record. */
  readonly firstOffset: bigint;
  /** Distance from there to its last offset. */
  readonly lastOffsetDelta: number;
  /** Bits: what kind of batch it is. */
  readonly attributes: number;
  /** Time of its first record. */
  readonly firstTimestamp: bigint;
  /** Its latest time; where the broker tells time, that of all its records. */
  readonly maxTimestamp: bigint;
  /** The records. */
  readonly records: readonly {
    readonly timestampDelta: bigint;
    readonly offsetDelta: number;
    readonly key: Uint8Array | null;
    readonly value: Uint8Array | null;
    readonly headers: readonly (readonly [Uint8Array | null, Uint8Array | null])[];
  }[];
}

const LOG_APPEND_TIME = 0b1000;
const CONTROL = 0b10_0000;

const decoder = new TextDecoder();

/** The records of a batch; a marker of a transaction has none. */
export function incomingRecords(
  topic: string,
  partition: number,
  batch: RecordsBatch,
): IncomingRecord[] {
  const { attributes, firstOffset, firstTimestamp, maxTimestamp, records } = batch;
  if ((attributes & CONTROL) !== 0) return [];
  const own = (attributes & LOG_APPEND_TIME) !== 0;
  return records.map(({ timestampDelta, offsetDelta, key, value, headers }) => ({
    topic,
    partition,
    offset: firstOffset + BigInt(offsetDelta),
    key,
    value,
    headers: headers.map(([name, text]) =>
      [name === null ? "" : decoder.decode(name), text] as const
    ) as RecordHeaders,
    timestampMs: Number(own ? maxTimestamp : firstTimestamp + timestampDelta),
  }));
}

import { type Delivery, kafkaCounting } from "@bq/core/transport";
import { firstHeader, foreignHeaders, HEADER } from "./_headers.ts";
import type { IncomingRecord } from "./client.ts";

const EMPTY = new Uint8Array(0);

/**
 * A record as the worker sees it. A record without a value is an empty body, which nobody can read.
 * Contract: K4, K5, K12, K13.
 *
 * @param queue Name of the queue.
 * @param record The record.
 */
export function deliveryOf(queue: string, record: IncomingRecord): Delivery {
  const { value, headers } = record;
  const version = firstHeader(headers, HEADER.schemaVersion);
  return {
    queue,
    body: value ?? EMPTY,
    headers: foreignHeaders(headers),
    counting: kafkaCounting(firstHeader(headers, HEADER.attempts)),
    ...(version == null ? {} : { schemaVersion: version }),
    ...(value === null ? { undecodable: true } : {}),
  };
}

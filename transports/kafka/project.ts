/**
 * From a message or a verdict to the record that is written. Pure: the same input gives the same
 * record.
 *
 * @module
 */

import {
  type Outgoing,
  outgoingHeaders,
  projectionOf,
  recordHeaders,
  type Verdict,
} from "@bq/core/transport";
import type { OutgoingRecord, RecordHeaders } from "./client.ts";
import {
  contractHeaders,
  firstHeader,
  foreignHeaders,
  foreignList,
  HEADER,
  headersOf,
  isContract,
  without,
  withoutWait,
} from "./_headers.ts";
import { delayTier, retryTier, retryTopic, type Tier, workTopicOf } from "./tiers.ts";

/** A record that another one continues. */
export type Source = Omit<OutgoingRecord, "timestampMs">;

/** What a projection needs beside the message. */
export interface Place {
  /** The work topic. */
  readonly topic: string;
  /** The retry tiers. */
  readonly tiersMs: readonly number[];
  /** Now, in Unix milliseconds. */
  readonly nowMs: number;
}

const encoder = new TextEncoder();

/**
 * The record of a publish. Contract: K1–K3, K6, K24, K51, K56.
 *
 * @param message The message.
 * @param source The record that it continues, where that is known.
 * @param place Where it goes.
 * @throws {BabelQueueError} `unsupported` when no tier is long enough for its delay.
 */
export function publishRecord(
  message: Outgoing,
  source: Source | undefined,
  place: Place,
): OutgoingRecord {
  const { topic, nowMs } = place;
  const key = keyOf(message, source);
  if (message.verbatim && source !== undefined) {
    return {
      topic,
      value: valueOf(message.body, source),
      key,
      headers: source.headers,
      timestampMs: nowMs,
    };
  }
  const projection = projectionOf(message.body, message.canonical);
  const contract = projection === null ? [] : contractHeaders(projection);
  const others = riders(message, source);
  const headers = others.length === 0 ? contract : [...contract, ...others];
  const { delayMs = 0 } = message;
  if (delayMs > 0) {
    const tier = delayTier(place.tiersMs, delayMs, topic);
    return {
      topic: retryTopic(topic, tier.number),
      value: message.body,
      key,
      headers: [...headers, ...waiting(Math.ceil(delayMs), topic)],
      timestampMs: nowMs,
    };
  }
  const createdAtMs = message.from === undefined ? projection?.createdAtMs : null;
  return { topic, value: message.body, key, headers, timestampMs: timestampOf(createdAtMs, nowMs) };
}

/**
 * The record of a retry, on the tier that its count picks. Contract: K23, K51.
 *
 * @param source The record that failed.
 * @param verdict The new body, and the count in it.
 * @param place The work topic it came from, and the tiers.
 * @throws {BabelQueueError} `unsupported` without tiers. Contract: K25.
 */
export function retryRecord(
  source: Source,
  verdict: Pick<Extract<Verdict, { kind: "retry" }>, "body" | "attempts">,
  place: Place,
): OutgoingRecord {
  const { body, attempts } = verdict;
  const tier: Tier = retryTier(place.tiersMs, attempts - 1);
  const workTopic = firstHeader(source.headers, HEADER.originalTopic) || place.topic;
  return {
    topic: retryTopic(workTopic, tier.number),
    value: valueOf(body, source),
    key: source.key,
    headers: [
      // The count beside the body is the one that counts, whatever the body can hold.
      ...without(slots(body, source), HEADER.attempts),
      [HEADER.attempts, `${attempts}`],
      ...foreignList(source.headers),
      ...waiting(tier.delayMs, workTopic),
    ],
    timestampMs: place.nowMs,
  };
}

/**
 * The record of a message that is done with and may not be lost. A body that cannot be read, or whose
 * version is another one, keeps the slots it came with. Contract: K52–K54, G9a, G25.
 *
 * @param source The record it is made of.
 * @param verdict The body, and why.
 * @param topic The dead-letter topic.
 * @param place The work topic.
 */
export function deadLetterRecord(
  source: Source,
  verdict: Pick<Extract<Verdict, { kind: "deadLetter" }>, "record" | "reason">,
  topic: string,
  place: Pick<Place, "topic" | "nowMs">,
): OutgoingRecord {
  const raw = verdict.reason === "gated" || verdict.reason === "poison";
  const seen = foreignHeaders(source.headers);
  const kept = recordHeaders(seen);
  const dropped = Object.keys(seen).filter((name) => !Object.hasOwn(kept, name));
  const workTopic = firstHeader(source.headers, HEADER.originalTopic) || place.topic;
  const contract = raw
    ? source.headers.filter(([name]) => isContract(name) && name !== HEADER.delay)
    : [
      ...slots(verdict.record, source),
      [HEADER.originalTopic, workTopic] as const,
    ];
  return {
    topic,
    value: valueOf(verdict.record, source),
    key: source.key,
    headers: [...contract, ...without(foreignList(source.headers), ...dropped)],
    timestampMs: place.nowMs,
  };
}

/**
 * The record that ends a wait: the same value, key and headers on the work topic, without the two that
 * say where it waited. Contract: K40, K42, K43.
 *
 * @param source The record on the tier's topic.
 * @param nowMs Now, in Unix milliseconds.
 */
export function forwardRecord(source: Source, nowMs: number): OutgoingRecord {
  const topic = firstHeader(source.headers, HEADER.originalTopic) ||
    (workTopicOf(source.topic) ?? source.topic);
  const { value, key } = source;
  return { topic, value, key, headers: withoutWait(source.headers), timestampMs: nowMs };
}

function keyOf({ key, from }: Outgoing, source: Source | undefined): Uint8Array | null {
  if (key === undefined) return from === undefined ? null : source?.key ?? null;
  return typeof key === "string" ? encoder.encode(key) : key;
}

/** A record without a value stays one, wherever it goes. */
function valueOf(body: Uint8Array, source: Source): Uint8Array | null {
  return source.value === null && body.length === 0 ? null : body;
}

/** Foreign headers: the message's own over those that came, which keep their bytes and their repeats. */
function riders(message: Outgoing, source: Source | undefined): RecordHeaders {
  const own = message.headers ?? {};
  if (source === undefined) {
    const all = outgoingHeaders(message);
    return all === undefined ? [] : headersOf(all).filter(([name]) => !isContract(name));
  }
  return [
    ...without(foreignList(source.headers), ...Object.keys(own)),
    ...headersOf(own).filter(([name]) => !isContract(name)),
  ];
}

/** The slots of a body; those that came with it when it cannot be read. */
function slots(body: Uint8Array, source: Source): RecordHeaders {
  const projection = projectionOf(body);
  if (projection !== null) return contractHeaders(projection);
  return withoutWait(source.headers).filter(([name]) => isContract(name));
}

function waiting(delayMs: number, workTopic: string): RecordHeaders {
  return headersOf({ [HEADER.delay]: `${delayMs}`, [HEADER.originalTopic]: workTopic });
}

function timestampOf(createdAtMs: number | null | undefined, nowMs: number): number {
  const usable = createdAtMs != null && Number.isSafeInteger(createdAtMs) && createdAtMs >= 0;
  return usable ? createdAtMs : nowMs;
}

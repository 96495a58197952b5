/**
 * The arithmetic of counting deliveries: what each broker family counted, and how that count and
 * the body's own become one. Contract: C136, C137, C139a.
 *
 * @module
 */

/** The largest count that is ever written; larger ones read as this. Contract: C139a. */
export const LARGEST_ATTEMPTS: number = Number.MAX_SAFE_INTEGER;

/** The largest `bq-attempts` property of Pulsar that is valid. Contract: P10. */
const LARGEST_PULSAR_PROPERTY = 2_147_483_647;

/** What a broker says about the number of earlier deliveries. */
export interface Counting {
  /** A native count that stands in for the body's own. */
  readonly replaces?: number;
  /** The broker's own count of earlier deliveries; the larger of both counts. */
  readonly floor?: number;
  /** The count kept beside a body that has none that can be read. */
  readonly beside?: number;
}

/**
 * Brings a count into the range that may be written: 0 to {@linkcode LARGEST_ATTEMPTS}.
 *
 * @param count The count; a negative one or no number at all is 0.
 * @returns A whole number within the range.
 */
export function saturate(count: number): number {
  if (typeof count !== "number" || !(count > 0)) return 0;
  return count >= LARGEST_ATTEMPTS ? LARGEST_ATTEMPTS : Math.floor(count);
}

/**
 * Combines the count in the body with what the broker counted.
 *
 * @param bodyAttempts `attempts` of the body; null when it is missing, or when the body may not be read.
 * @param counting What the broker counted.
 * @returns The number of earlier deliveries, 0 on the first.
 */
export function reconcile(bodyAttempts: number | null, counting: Counting): number {
  const base = saturate(counting.replaces ?? bodyAttempts ?? counting.beside ?? 0);
  return Math.max(base, saturate(counting.floor ?? 0));
}

/**
 * Reads an SQS `ApproximateReceiveCount`, which counts this delivery too. Contract: S11, S13.
 *
 * @param receiveCount The attribute as it came.
 * @returns The count of earlier deliveries as a floor; nothing when it is no decimal integer.
 */
export function sqsCounting(receiveCount: unknown): Counting {
  return floor(decimal(receiveCount), 1);
}

/**
 * Reads a Service Bus `DeliveryCount`, which counts this delivery too. Contract: A11.
 *
 * @param deliveryCount The property as it came.
 * @returns The count of earlier deliveries as a floor; nothing when it is no integer.
 */
export function serviceBusCounting(deliveryCount: unknown): Counting {
  return floor(decimal(deliveryCount), 1);
}

/**
 * Reads the two counts of Pulsar: a valid `bq-attempts` property stands in for the body's count, and
 * the broker's `RedeliveryCount` is a floor. Contract: P10.
 *
 * @param property The `bq-attempts` property as it came.
 * @param redeliveryCount The broker's 0-based count.
 * @returns Both, as far as they are valid.
 */
export function pulsarCounting(property: unknown, redeliveryCount: unknown): Counting {
  const counting = floor(decimal(redeliveryCount), 0);
  if (typeof property !== "string" || !/^[0-9]+$/.test(property)) return counting;
  const replaces = Number(property);
  return replaces > LARGEST_PULSAR_PROPERTY ? counting : { ...counting, replaces };
}

/**
 * Reads the `bq-attempts` header of a Kafka record, which stands in for the body's count even when it
 * is lower. Contract: K5, K12.
 *
 * @param header The header's value as it came, bytes or text.
 * @returns The count; nothing when it is no decimal integer. A negative one is 0.
 */
export function kafkaCounting(header: unknown): Counting {
  const count = decimal(header instanceof Uint8Array ? ascii(header) : header);
  return count === null ? {} : { replaces: saturate(count) };
}

/**
 * Reads the `delivery-count` of an AMQP 1.0 message, which counts earlier deliveries only.
 * Contract: X10.
 *
 * @param deliveryCount The header field as it came.
 * @returns The count as a floor; nothing when it is no integer.
 */
export function artemisCounting(deliveryCount: unknown): Counting {
  return floor(decimal(deliveryCount), 0);
}

function floor(count: number | null, offset: number): Counting {
  if (count === null || count <= offset) return {};
  return { floor: saturate(count - offset) };
}

/** An optional sign and decimal digits, a whole number, or a `bigint`; null for everything else. */
function decimal(value: unknown): number | null {
  switch (typeof value) {
    case "string":
      return /^[+-]?[0-9]+$/.test(value) ? Number(value) : null;
    case "number":
      return Number.isInteger(value) ? value : null;
    case "bigint":
      return Number(value);
    default:
      return null;
  }
}

/** Text of a short header; anything outside ASCII becomes a character that is no digit. */
function ascii(bytes: Uint8Array): string {
  return bytes.length > 64 ? "" : String.fromCharCode(...bytes);
}

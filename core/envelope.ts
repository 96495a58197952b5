/**
 * The shape of the wire envelope. Members keep their wire names; everything here is type only.
 *
 * @module
 */

/** A JSON value as `JSON.parse` gives it, and `bigint` where exact integers were asked for. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** The payload of a message: a JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** The `meta` member: written once by the producer, never changed on the way. Contract: C3, C5. */
export interface EnvelopeMeta {
  /** Identity of this message, a UUID v4; what consumers deduplicate on. */
  readonly id: string;
  /** Logical queue the message was published to. */
  readonly queue: string;
  /** Language of the producer's SDK; `node` for this one. */
  readonly lang: string;
  /** Version of the envelope, 1. */
  readonly schema_version: number;
  /** Time of production, in Unix milliseconds. */
  readonly created_at: number;
  /** Extensions, for instance `ext`. */
  readonly [extension: string]: unknown;
}

/** The `dead_letter` member of a record on a dead-letter queue. Contract: C101–C104. */
export interface DeadLetter {
  /** `failed`, `unknown_urn` or `poison`; readers tolerate other values. */
  readonly reason: string;
  /** Message of the last error, or null. */
  readonly error: string | null;
  /** Type name of the last error, or null. */
  readonly exception: string | null;
  /** When the message was dead-lettered, in Unix milliseconds. */
  readonly failed_at: number;
  /** Queue that the message belonged to. */
  readonly original_queue: string;
  /** Deliveries so far. */
  readonly attempts: number;
  /** Language of the SDK that dead-lettered the message. */
  readonly lang: string;
}

/** One message as it stands on the wire. Contract: C2, C5. */
export interface Envelope {
  /** The URN that consumers route on. */
  readonly job: string;
  /** Id of the causal chain, kept on every hop. */
  readonly trace_id: string;
  /** The payload. */
  readonly data: JsonObject;
  /** What the producer wrote about the message. */
  readonly meta: EnvelopeMeta;
  /** Failed or unfinished deliveries so far; 0 on the first. */
  readonly attempts: number;
  /** Only on a dead-letter record. */
  readonly dead_letter?: DeadLetter;
  /** Members this version does not know; they are kept. */
  readonly [unknown: string]: unknown;
}

/** An envelope as it was read: any member may be missing or odd. */
export type IncomingEnvelope = { readonly [member: string]: unknown };

/** Something read or written that deserves attention but is no error. Contract: C25–C27, C32, C33. */
export interface EnvelopeWarning {
  /** `forbidden_key`: removed; `urn_alias`: `urn` beside a valid `job`, removed; `job_ignored`: `job` is no string. */
  readonly code: "forbidden_key" | "urn_alias" | "job_ignored";
  /** RFC 6901 pointer to the member. */
  readonly pointer: string;
  /** One sentence for a log. */
  readonly message: string;
}

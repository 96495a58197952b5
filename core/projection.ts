/**
 * What a body says that brokers carry in slots of their own beside it. Contract: G1, G4, G5.
 *
 * @module
 */

import { SCHEMA_VERSION } from "./_contract.ts";
import { own } from "./_fold.ts";
import { frameOfBytes } from "./_frame.ts";
import { readEnvelope } from "./reading.ts";

/** The members of an envelope that transports project. An absent one has no slot. */
export interface Projection {
  /** The identity. */
  readonly urn: string;
  /** Id of the causal chain; null when it is absent or blank. */
  readonly traceId: string | null;
  /** `meta.id`; empty when it is absent. */
  readonly messageId: string;
  /** `meta.queue`; null when it is absent or blank. */
  readonly queue: string | null;
  /** `meta.lang`; empty when it is absent. */
  readonly lang: string;
  /** `meta.schema_version`; null when it is absent. */
  readonly schemaVersion: number | null;
  /** `meta.created_at` in Unix milliseconds; null when it is absent. */
  readonly createdAtMs: number | null;
  /** Earlier deliveries, 0 to 2^53-1; 0 when the body does not say. */
  readonly attempts: number;
}

/**
 * Reads what a transport projects.
 *
 * @param body The body, byte for byte.
 * @param canonical Whether this library encoded the body (`Outgoing.canonical`): then its
 * `data` is not looked at, so that the cost does not grow with it.
 * @returns The members; null for a body that does not decode, which travels without them.
 */
export function projectionOf(body: Uint8Array, canonical: boolean = false): Projection | null {
  const frame = canonical ? frameOfBytes(body) : null;
  if (frame !== null) {
    const { urn, traceId, messageId, metaQueue, lang, createdAt, attempts } = frame;
    return {
      urn,
      traceId,
      messageId,
      queue: metaQueue,
      lang,
      schemaVersion: SCHEMA_VERSION,
      createdAtMs: createdAt,
      attempts,
    };
  }
  const reading = readEnvelope(body);
  const { verdict, meta } = reading.verdict();
  if (verdict !== "ok") return null;
  const lang = own(meta, "lang");
  return {
    urn: reading.urn,
    traceId: reading.traceId,
    messageId: reading.messageId,
    queue: reading.metaQueue,
    lang: typeof lang === "string" ? lang : "",
    schemaVersion: numberOf(own(meta, "schema_version")),
    createdAtMs: numberOf(own(meta, "created_at")),
    attempts: reading.attempts ?? 0,
  };
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
}

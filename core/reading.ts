/**
 * Reading a body: the routing fields without parsing `data`, and the verdict on the whole of it.
 *
 * @module
 */

import type { EnvelopeWarning, IncomingEnvelope, JsonObject } from "./envelope.ts";
import { judge } from "./_judge.ts";
import { type Route, routeOf } from "./_route.ts";

/** How a body is read. */
export interface ReadOptions {
  /**
   * Gives integers beyond 2^53 inside `data` as `bigint`. Without it they are rounded, as by
   * `JSON.parse`.
   *
   * @default {false}
   */
  readonly bigint?: boolean;
  /**
   * Refuses a number that is no finite double, and an escape of half a surrogate pair, anywhere in the
   * body, as a broker does that decodes bodies itself. Contract: R33, R35.
   *
   * @default {false}
   */
  readonly wide?: boolean;
}

/** What a whole body is, decided once, before a handler runs. Contract: C44–C48. */
export interface BodyVerdict {
  /** `ok`; `no_identity` when neither `job` nor `urn` is a non-blank string; `poison` when the body breaks a rule. The last two have the same fate. */
  readonly verdict: "ok" | "no_identity" | "poison";
  /** Why it is not `ok`, without any part of the body; empty otherwise. */
  readonly cause: string;
  /** The payload; null when it is missing or null. */
  readonly data: JsonObject | null;
  /** The `meta` member without forbidden members; empty when it is missing. */
  readonly meta: JsonObject;
  /** `attempts` as in the bytes, 0 when it is missing or null. */
  readonly envelopeAttempts: number;
  /** Members that a complete envelope has beside its identity and that are missing, null or blank: `trace_id`, `data`, `meta`, `attempts`, `meta.schema_version`. */
  readonly missing: readonly string[];
  /** False when `meta.schema_version` is there and not 1. Contract: C47. */
  readonly versionSupported: boolean;
  /** Whether `data` holds integers beyond 2^53. */
  readonly inexactIntegers: boolean;
  /** What reading removed or ignored. */
  readonly warnings: readonly EnvelopeWarning[];
  /** Whether the body has the canonical shape throughout, so that a splice need not look at it again. */
  readonly canonical: boolean;
  /** The envelope: `urn` folded into `job`, forbidden members removed; empty when the body is no JSON object. */
  envelope(): IncomingEnvelope;
}

/**
 * A body that is being read. It keeps the bytes and parses nothing by itself; on a body of the
 * canonical shape the routing fields cost the same for every size.
 *
 * The routing fields do not look at `data`, so they say nothing about the rest of the body. Only
 * after {@linkcode EnvelopeReading.verdict} are they final: a member repeated behind `data` is found
 * there.
 */
export class EnvelopeReading {
  /** The body as it came. */
  readonly body: Uint8Array | string;
  readonly #options: ReadOptions;
  #route: Route | undefined;
  #verdict: BodyVerdict | undefined;

  /**
   * Begins a reading; nothing is parsed yet.
   *
   * @param body The body, bytes or text.
   * @param options How it is read.
   */
  constructor(body: Uint8Array | string, options?: ReadOptions) {
    // What is neither has no bytes at all.
    this.body = typeof body === "string" || ArrayBuffer.isView(body) ? body : "";
    this.#options = { bigint: options?.bigint === true, wide: options?.wide === true };
  }

  /** The URN to route on; empty without an identity. Contract: C99. */
  get urn(): string {
    return this.#routed().urn;
  }

  /** Id of the causal chain; null when it is absent or blank. */
  get traceId(): string | null {
    return this.#routed().traceId;
  }

  /** `meta.id`; empty when it is absent. */
  get messageId(): string {
    return this.#routed().messageId;
  }

  /** `meta.queue`; null when it is absent or blank. */
  get metaQueue(): string | null {
    return this.#routed().metaQueue;
  }

  /** Earlier deliveries as the body counts them, 0 to 2^53-1; null when it does not say. Contract: C139a. */
  get attempts(): number | null {
    return this.#routed().attempts;
  }

  /** Parses the whole body, the first time, and says what it is. It never throws. */
  verdict(): BodyVerdict {
    if (this.#verdict === undefined) {
      const judgement = judge(this.body, this.#options);
      this.#route = judgement.route;
      this.#verdict = judgement;
    }
    return this.#verdict;
  }

  #routed(): Route {
    return this.#route ??= routeOf(this.body);
  }
}

/**
 * Begins to read a body. It never throws, whatever the bytes.
 *
 * @param body The body, bytes or text.
 * @param options How it is read.
 * @returns The reading.
 *
 * @example Route without parsing the payload
 * ```ts
 * import { EnvelopeCodec, readEnvelope } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * const body = EnvelopeCodec.encode(EnvelopeCodec.make("urn:babel:orders:created", { id: 7 }));
 * const reading = readEnvelope(body);
 * assert.equal(reading.urn, "urn:babel:orders:created");
 * assert.deepEqual(reading.verdict().data, { id: 7 });
 * ```
 */
export function readEnvelope(
  body: Uint8Array | string,
  options?: ReadOptions,
): EnvelopeReading {
  return new EnvelopeReading(body, options);
}

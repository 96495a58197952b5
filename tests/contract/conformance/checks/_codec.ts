/**
 * The library's ways to read and to make an envelope, each pair of which has to agree.
 *
 * @module
 */

import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../../../core/codec.ts";
import { encodeNew } from "../../../../core/encode.ts";
import type { EnvelopeWarning, IncomingEnvelope, JsonObject } from "../../../../core/envelope.ts";
import { readEnvelope } from "../../../../core/reading.ts";
import { assertSameJson, follow, type JsonRecord, member, text } from "../json.ts";
import type { Suite, SuiteCase } from "../suite.ts";

/** What `decode` made of a body. */
export interface Decoded {
  /** The envelope; undefined when `decode` threw. */
  readonly envelope: IncomingEnvelope | undefined;
  /** Every warning, in order. */
  readonly warnings: readonly EnvelopeWarning[];
}

/** The bytes of the file that a case names. */
export function bodyOf(item: SuiteCase, suite: Suite): Uint8Array {
  return suite.read(text(item.value, "file"));
}

/** Decodes bytes and the same text, which have to agree, and collects the warnings. */
export function decodeBoth(body: Uint8Array): Decoded {
  const fromBytes = decodeOnce(body);
  const fromText = decodeOnce(new TextDecoder("utf-8", { ignoreBOM: true }).decode(body));
  assertSameJson(fromText.envelope, fromBytes.envelope, "the envelope decoded from text");
  assertSameJson(pointers(fromText), pointers(fromBytes), "the warnings of the same text");
  return fromBytes;
}

function decodeOnce(body: Uint8Array | string): Decoded {
  const warnings: EnvelopeWarning[] = [];
  const onWarning = (warning: EnvelopeWarning): number => warnings.push(warning);
  let envelope: IncomingEnvelope | undefined;
  try {
    envelope = EnvelopeCodec.decode(body, { onWarning });
  } catch (error) {
    assert.ok(error instanceof Error && error.name === "BabelQueueError", String(error));
  }
  return { envelope, warnings };
}

/** The pointers that the warnings name. */
export function pointers(decoded: Decoded): readonly string[] {
  return decoded.warnings.map(({ pointer }) => pointer);
}

/** Whether the worker finds nothing to complain about before it hands the body to a handler. */
export function isComplete(body: Uint8Array): boolean {
  const { verdict, versionSupported, missing } = readEnvelope(body).verdict();
  return verdict === "ok" && versionSupported && missing.length === 0;
}

/** What each way of publishing writes: `make` and `encode`, `fromMessage`, and the worker's fast path. */
export function encodeAll(value: JsonRecord): readonly string[] {
  const urn = text(value, "urn");
  const data = (member(value, "data") ?? {}) as JsonObject;
  const queue = text({ queue: "default", ...value }, "queue");
  const traceId = member(value, "trace_id") as string | null | undefined;
  const traced = traceId === undefined || traceId === null ? {} : { traceId };
  const message = {
    getBabelUrn: (): string => urn,
    toPayload: (): JsonObject => data,
    getBabelTraceId: (): string | null | undefined => traceId,
  };
  const fast = encodeNew(urn, data, { queue, ...traced, nowMs: 1_790_000_000_000 });
  return [
    EnvelopeCodec.encode(EnvelopeCodec.make(urn, data, { queue, ...traced })),
    EnvelopeCodec.encode(EnvelopeCodec.fromMessage(message, queue)),
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fast.body),
  ];
}

/** How `make` mints ids. Contract: C10. */
export const UUID_V4: RegExp =
  /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Fails unless the pointer holds the value. */
export function assertAt(document: unknown, pointer: string, expected: unknown): void {
  const found = follow(document, pointer);
  assert.ok(found.found, `nothing at ${pointer}`);
  assertSameJson(found.value, expected, pointer);
}

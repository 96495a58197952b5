/**
 * What survives a hop: the sections `roundtrip`, `forbidden_keys` and `extension_write`, and the
 * `reemit` mode of `trim`. Every hop is made twice: through the object, as an application does it,
 * and through the bytes, as the worker does it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { EnvelopeCodec } from "../../../../core/codec.ts";
import { annotate, deadLetterBlock } from "../../../../core/dead_letter.ts";
import type { Envelope, IncomingEnvelope, JsonObject } from "../../../../core/envelope.ts";
import { readEnvelope } from "../../../../core/reading.ts";
import { reemit } from "../../../../core/splice.ts";
import {
  assertAbsent,
  assertPreserved,
  assertSameJson,
  follow,
  isRecord,
  list,
  member,
  record,
  text,
} from "../json.ts";
import type { CaseCheck } from "../run.ts";
import { bodyOf, decodeBoth, pointers, UUID_V4 } from "./_codec.ts";

interface DeadLetterStep {
  readonly reason: string;
  readonly originalQueue: string;
}

interface Hop {
  /** Attempts after the hop; undefined leaves them. */
  readonly attempts?: number;
  /** The move to the dead-letter queue that follows. */
  readonly deadLetter?: DeadLetterStep | undefined;
}

/** What was written, parsed, once for each way. */
function hop(
  body: Uint8Array,
  envelope: IncomingEnvelope,
  { attempts, deadLetter }: Hop,
): readonly (readonly [way: string, document: unknown])[] {
  const counted = { ...envelope, ...(attempts === undefined ? {} : { attempts }) } as Envelope;
  const object = deadLetter === undefined
    ? counted
    : annotate(counted, deadLetter.reason, deadLetter.originalQueue, { error: "boom" });
  const block = deadLetter === undefined ? undefined : deadLetterBlock({
    reason: deadLetter.reason,
    error: new Error("boom"),
    originalQueue: deadLetter.originalQueue,
    attempts: attempts ?? 0,
    failedAtMs: 1_790_000_000_000,
  });
  const bytes = reemit(body, {
    ...(attempts === undefined ? {} : { attempts }),
    ...(block === undefined ? {} : { deadLetter: block }),
  });
  const written = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  return [
    ["the object way", JSON.parse(EnvelopeCodec.encode(object))],
    ["the bytes way", JSON.parse(written)],
  ];
}

/** Sections `roundtrip` and `trim`, mode `reemit`: decode, attempts + 1, encode. Contract: C31, C55–C57, C83. */
export const checkReemit: CaseCheck = (item, suite) => {
  const body = bodyOf(item, suite);
  const { envelope, warnings } = decodeBoth(body);
  assert.ok(envelope !== undefined, "decode threw");
  if (item.block === "cases" && item.value["mode"] === undefined) {
    assert.ok(EnvelopeCodec.accepts(envelope), "it is not accepted");
    assert.equal(warnings.length, 0, `warnings: ${warnings.map(({ pointer }) => pointer)}`);
  }
  const attempts = (readEnvelope(body).attempts ?? 0) + 1;
  const deadLetter = deadLetterStep(member(item.value, "apply_dead_letter"));
  for (const [way, document] of hop(body, envelope, { attempts, deadLetter })) {
    const expected = member(item.value, "expect_attempts");
    if (expected !== undefined) assertPreserved(document, { "/attempts": expected }, way);
    assertPreserved(document, member(item.value, "expect_preserved") ?? {}, way);
    assertAbsent(document, list(item.value, "expect_absent_after_reencode"), way);
    if (deadLetter === undefined) continue;
    const block = follow(document, "/dead_letter");
    assert.ok(block.found && isRecord(block.value), `${way}: no dead_letter object`);
    const wanted = member(item.value, "expect_dead_letter") ?? {};
    assert.ok(isRecord(wanted), "expect_dead_letter is no object");
    for (const [name, value] of Object.entries(wanted)) {
      assertSameJson(block.value[name], value, `${way}: dead_letter.${name}`);
    }
  }
};

function deadLetterStep(value: unknown): DeadLetterStep | undefined {
  if (value === undefined) return undefined;
  assert.ok(isRecord(value), "apply_dead_letter is no object");
  return { reason: text(value, "reason"), originalQueue: text(value, "original_queue") };
}

/** Section `forbidden_keys`. Contract: C32, C85. */
export const checkForbiddenKey: CaseCheck = (item, suite) => {
  assert.equal(item.value["expect"], "warn", "an expectation that the runner does not know");
  const body = bodyOf(item, suite);
  const decoded = decodeBoth(body);
  assert.ok(decoded.envelope !== undefined, "decode threw");
  assert.ok(EnvelopeCodec.accepts(decoded.envelope), "it is not accepted");
  const key = text(item.value, "forbidden_key");
  assert.ok(pointers(decoded).includes(key), `no warning names ${key}: ${pointers(decoded)}`);
  const warning = decoded.warnings.find(({ pointer }) => pointer === key);
  assert.ok(warning!.message.includes(key), `the text of the warning does not name ${key}`);
  const verdict = readEnvelope(body).verdict();
  assert.ok(verdict.warnings.some(({ pointer }) => pointer === key), "the worker is not warned");
  for (const [way, document] of hop(body, decoded.envelope, {})) {
    assertAbsent(document, list(item.value, "expect_absent_after_reencode"), way);
    assertPreserved(document, member(item.value, "expect_preserved") ?? {}, way);
  }
};

/** Section `extension_write`. Contract: C51, C85. */
export const checkExtensionWrite: CaseCheck = (item) => {
  const meta = record(item.value, "meta");
  const queue = text(item.value, "queue");
  const made = EnvelopeCodec.make(
    text(item.value, "urn"),
    record(item.value, "data") as JsonObject,
    { queue, meta },
  );
  const encoded = EnvelopeCodec.encode(made);
  const expected = member(item.value, "expect_envelope");
  const document: unknown = JSON.parse(encoded);
  assertPreserved(document, expected, "the first encode");
  assertCoreMeta(document, queue, "the first encode");
  const body = new TextEncoder().encode(encoded);
  const { envelope, warnings } = decodeBoth(body);
  assert.ok(envelope !== undefined && EnvelopeCodec.accepts(envelope), "it is not accepted");
  assert.equal(warnings.length, 0, `warnings: ${warnings.map(({ pointer }) => pointer)}`);
  for (const [way, again] of hop(body, envelope, { attempts: 1 })) {
    assertPreserved(again, expected, way);
    assertPreserved(again, { "/attempts": 1 }, way);
    assertSameJson(follow(again, "/meta"), follow(document, "/meta"), `${way}: meta`);
  }
};

function assertCoreMeta(document: unknown, queue: string, what: string): void {
  assertPreserved(
    document,
    { "/meta/queue": queue, "/meta/lang": "node", "/meta/schema_version": 1, "/attempts": 0 },
    what,
  );
  const id = follow(document, "/meta/id");
  assert.ok(id.found && UUID_V4.test(String(id.value)), `${what}: meta.id is no UUID`);
  const created = follow(document, "/meta/created_at");
  assert.ok(created.found && Number.isSafeInteger(created.value), `${what}: no meta.created_at`);
}

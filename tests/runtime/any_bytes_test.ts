/** What becomes of any body at all: it meets a handler that may have it, or its exact bytes are kept. */

import assert from "node:assert/strict";
import { EnvelopeCodec, readEnvelope } from "@bq/core";
import fc from "fast-check";
import { canonical, documents } from "../core/_documents.ts";
import { test } from "../harness.ts";
import { bodies, bytes, ended, envelope, parsed, withApp } from "./_app.ts";

/** Two of the URNs that the generated documents have. */
const KNOWN = ["urn:babel:shop:paid", "u"];

const document = documents.map(bytes);
const body: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 64 }),
  document,
  document,
  fc.constantFrom("0", "2", "null").map((version) =>
    bytes(canonical().replace('"schema_version":1', `"schema_version":${version}`))
  ),
  fc.tuple(document, fc.nat(), fc.nat(255)).map(([whole, place, value]) => {
    const changed = whole.slice();
    if (changed.length > 0) changed[place % changed.length] = value;
    return changed;
  }),
);

/** The URN of a body that a handler may have; null of one that is poison. */
function urnOf(sent: Uint8Array, strict: boolean): string | null {
  const { verdict, versionSupported } = readEnvelope(sent).verdict();
  if (verdict !== "ok" || !versionSupported) return null;
  const decoded = EnvelopeCodec.decode(sent);
  return strict && !EnvelopeCodec.accepts(decoded) ? null : EnvelopeCodec.urn(decoded);
}

/** Asserts that a poison record holds the body: wrapped as it came, or spliced behind its last member. */
function holds(record: string, sent: Uint8Array): void {
  const { raw, raw_encoding } = parsed(record);
  if (raw_encoding === "base64") {
    assert.deepEqual(Uint8Array.from(atob(String(raw)), (byte) => byte.charCodeAt(0)), sent);
  } else if (typeof raw === "string") {
    assert.deepEqual(bytes(raw), sent);
  } else {
    const block = record.lastIndexOf('"dead_letter":{"reason"');
    const object = record.slice(0, block).replace(/,$/, "") + "}";
    const white = new TextDecoder("utf-8", { ignoreBOM: true }).decode(sent);
    const trimmed = white.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
    // White space is kept beside members, and goes with an object that has none. Contract: C116, C327.
    assert.equal(object, trimmed.replace(/^\{[ \t\r\n]+\}$/, "{}"));
  }
}

for (const strict of [false, true]) {
  const mode = strict ? "with strict" : "without strict";
  test(`any bytes are handled or kept, and the worker goes on, ${mode}`, async () => {
    const check = async (sent: Uint8Array[]): Promise<void> => {
      await withApp({ maxAttempts: 1, deadLetter: true, strict }, async (bench) => {
        const { bq, transport, clock } = bench;
        const met: string[] = [];
        for (const urn of [...KNOWN, "last"]) bq.handle(urn, (_, ctx) => void met.push(ctx.urn));
        for (const one of sent) await bq.publishRaw("shop", one);
        await bq.publishRaw("shop", bytes(envelope({ job: '"last"' })));
        await ended(bq.consume({ waitMs: 0 }), clock);

        const urns = sent.map((one) => urnOf(one, strict));
        assert.deepEqual(met, [...urns.filter((urn) => KNOWN.includes(urn ?? "")), "last"]);
        const records = await bodies(transport, "shop.dlq");
        assert.equal(met.length + records.length, sent.length + 1);
        const poison = records.filter((record) => /"dead_letter":\{"reason":"poison"/.test(record));
        const refused = sent.filter((_, n) => urns[n] === null);
        assert.equal(poison.length, refused.length);
        for (const [n, one] of refused.entries()) holds(poison[n]!, one);
      });
    };
    const batches = fc.array(body, { minLength: 30, maxLength: 30 });
    await fc.assert(fc.asyncProperty(batches, check), { numRuns: 20 });
  });
}

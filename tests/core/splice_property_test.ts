import assert from "node:assert/strict";
import fc from "fast-check";
import type { DeadLetter } from "../../core/envelope.ts";
import { readEnvelope } from "../../core/reading.ts";
import { type Edit, reemit, reemitText } from "../../core/splice.ts";
import { test } from "../harness.ts";
import { accepted, canonical, documents } from "./_documents.ts";
import { type Node, parseJson, reference } from "./_reference.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const BLOCK: DeadLetter = {
  reason: "failed",
  error: 'no "stock"',
  exception: "Error",
  failed_at: 1760000005000,
  original_queue: "shop",
  attempts: 3,
  lang: "node",
};

type Member = readonly [name: string, raw: string];

const FORBIDDEN = ["max_retries", "attempts", "source", "ts"];

/** The members that a body has to have after an edit, by the contract. */
function expectedMembers(root: Node, urn: string, edit: Edit): Member[] {
  const members = root.members ?? [];
  const lastOf = (name: string): number => members.findLastIndex(([own]) => own === name);
  const job = lastOf("job");
  const isFold = urn !== "" && members[job]?.[1].text !== urn;
  const alias = members[lastOf("urn")]?.[1].raw ?? "";
  const result: Member[] = [];
  if (isFold && job < 0) result.push(["job", alias]);
  const count: Member | null = edit.attempts === undefined
    ? null
    : ["attempts", String(edit.attempts)];
  const block: Member | null = edit.deadLetter
    ? ["dead_letter", JSON.stringify(edit.deadLetter)]
    : null;
  const hasBlock = lastOf("dead_letter") >= 0 && edit.deadLetter !== null;
  members.forEach(([name, value], index) => {
    if (name === "timestamp" || (name === "urn" && urn !== "")) return;
    if (name === "dead_letter" && edit.deadLetter === null) return;
    if (name === "job" && isFold && index === job) result.push(["job", alias]);
    else if (name === "attempts" && count && index === lastOf("attempts")) result.push(count);
    else if (name === "dead_letter" && index === lastOf("dead_letter")) {
      if (count && lastOf("attempts") < 0) result.push(count);
      result.push(block ?? [name, value.raw]);
    } else if (name === "meta" && value.kind === "object") result.push([name, metaRaw(value)]);
    else result.push([name, value.raw]);
  });
  if (!hasBlock) {
    if (count && lastOf("attempts") < 0) result.push(count);
    if (block) result.push(block);
  }
  return result;
}

/** A `meta` that loses members, as a list of what is left. */
function metaRaw(meta: Node): string {
  const kept = (meta.members ?? []).filter(([name]) => !FORBIDDEN.includes(name));
  return kept.length === meta.members?.length ? meta.raw : listOf(kept);
}

function listOf(members: readonly (readonly [string, Node])[]): string {
  return `list ${JSON.stringify(members.map(([name, value]) => [name, value.raw]))}`;
}

/** The members of an edited body, in the form of the expected ones. */
function actualMembers(text: string, expected: readonly Member[]): Member[] {
  return (parseJson(text).members ?? []).map(([name, value], index) => [
    name,
    expected[index]?.[1].startsWith("list ") ? listOf(value.members ?? []) : value.raw,
  ]);
}

const edits: fc.Arbitrary<Edit> = fc.record({
  attempts: fc.nat({ max: 20 }),
  deadLetter: fc.constantFrom(null, BLOCK),
}, { requiredKeys: [] });

test("reemit() changes what the edit says, drops what is forbidden and keeps every literal", () => {
  fc.assert(
    fc.property(documents, edits, (text, edit) => {
      const facts = reference(text);
      if (facts === null) {
        assert.throws(() => reemitText(text, edit), { code: "invalid_envelope" });
        return;
      }
      const root = parseJson(text);
      const result = reemitText(text, edit);
      const expected = expectedMembers(root, facts.urn, edit);
      assert.deepEqual(actualMembers(result, expected), expected, text);
      assert.equal(decoder.decode(reemit(encoder.encode(text), edit)), result);
      if (readEnvelope(text).verdict().canonical) {
        const hinted = { ...edit, canonical: true };
        assert.equal(reemitText(text, hinted), result);
        assert.equal(decoder.decode(reemit(encoder.encode(text), hinted)), result);
      }
    }),
    { numRuns: 4000 },
  );
});

const json = fc.dictionary(
  fc.string({ unit: "grapheme" }),
  fc.jsonValue({ stringUnit: "grapheme" }),
);

test("reemit() carries any JSON value through, byte for byte", () => {
  fc.assert(
    fc.property(json, fc.nat({ max: 1_000_000 }), (data, attempts) => {
      const payload = JSON.stringify(data);
      const before = encoder.encode(canonical(payload, "0"));
      const after = encoder.encode(canonical(payload, String(attempts)));
      assert.deepEqual(reemit(before, { attempts }), after);
      assert.deepEqual(reemit(before, { attempts, canonical: true }), after);
      const unknown = `{"x":${payload},"job":"u","attempts":1}`;
      assert.equal(reemitText(unknown, { attempts: 1 }), unknown);
    }),
  );
});

test("reemit() with the count that is there gives a compact body back byte for byte", () => {
  fc.assert(
    fc.property(accepted, ({ body, attempts }) => {
      assert.equal(readEnvelope(body).verdict().verdict, "ok");
      assert.equal(reemitText(body, { attempts }), body);
      assert.equal(reemitText(body, {}), body);
    }),
    { numRuns: 500 },
  );
});

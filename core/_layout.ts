/**
 * The layout of a body: where its known members stand in the text, and whether each occurrence is
 * well typed. Contract: C46, C65, C68.
 *
 * @module
 */

import { DEEPEST_NESTING, FORBIDDEN_META } from "./_contract.ts";
import {
  MALFORMED,
  type Member,
  type Names,
  namesOf,
  type ObjectSpan,
  scanObject,
  skipSpace,
  stringAt,
  TOO_DEEP,
} from "./_scan.ts";

/** What a typed member has to be; null is always as good as absent. */
type Kind = "a string" | "an object" | "a 64-bit integer";

const ROOT_KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["trace_id", "a string"],
  ["data", "an object"],
  ["meta", "an object"],
  ["attempts", "a 64-bit integer"],
  ["dead_letter", "an object"],
]);

const META_KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["id", "a string"],
  ["queue", "a string"],
  ["lang", "a string"],
  ["schema_version", "a 64-bit integer"],
  ["created_at", "a 64-bit integer"],
]);

const DEAD_LETTER_KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ["reason", "a string"],
  ["error", "a string"],
  ["exception", "a string"],
  ["failed_at", "a 64-bit integer"],
  ["original_queue", "a string"],
  ["attempts", "a 64-bit integer"],
  ["lang", "a string"],
]);

const ROOT_NAMES = /* @__PURE__ */ namesOf([
  ...ROOT_KINDS.keys(),
  "job",
  "urn",
  "timestamp",
]);
const META_NAMES = /* @__PURE__ */ namesOf([...META_KINDS.keys(), ...FORBIDDEN_META]);
const DEAD_LETTER_NAMES = /* @__PURE__ */ namesOf([...DEAD_LETTER_KINDS.keys()]);

const OPEN_OBJECT = 0x7b;
const QUOTE = 0x22;

/** Finds the known members of the one object that a body has to be, or says why there is none. */
export function layoutOf(text: string): ObjectSpan | string {
  const at = skipSpace(text, 0);
  if (at === text.length) return "the body is empty";
  if (text.charCodeAt(at) === 0xfeff) return "the body begins with a byte order mark";
  if (text.charCodeAt(at) !== OPEN_OBJECT) return "the body is no JSON object";
  const root = scanObject(text, at, ROOT_NAMES, DEEPEST_NESTING);
  if (root === TOO_DEEP) return `the body nests deeper than ${DEEPEST_NESTING} levels`;
  if (root === MALFORMED || skipSpace(text, root.end) !== text.length) {
    return "the body is no valid JSON";
  }
  return root;
}

/** The members of a `meta` value; null when it is no object. */
export function metaSpan(text: string, meta: Member): ObjectSpan | null {
  return nested(text, meta, META_NAMES);
}

function nested(text: string, member: Member, names: Names): ObjectSpan | null {
  if (text.charCodeAt(member.valueStart) !== OPEN_OBJECT) return null;
  const span = scanObject(text, member.valueStart, names, DEEPEST_NESTING);
  return typeof span === "number" ? null : span;
}

/** The last occurrence of a member, which is the one that counts. */
export function lastMember(span: ObjectSpan, name: string): Member | undefined {
  return span.members.findLast((member) => member.name === name);
}

/** The value of a member as a string; undefined when it is absent or no string. */
export function stringOf(text: string, member: Member | undefined): string | undefined {
  return member && stringAt(text, member.valueStart, member.valueEnd);
}

/** The value of a member as an integer; null when it is absent, null or no 64-bit integer literal. */
export function integerOf(text: string, member: Member | undefined): number | null {
  if (member === undefined) return null;
  const literal = text.slice(member.valueStart, member.valueEnd);
  return isInt64(literal) ? Number(literal) : null;
}

/** Says which occurrence of a typed member has another type, or null. Contract: C46, C65. */
export function illTyped(text: string, root: ObjectSpan): string | null {
  for (const member of root.members) {
    const kind = ROOT_KINDS.get(member.name);
    if (kind !== undefined && !isKind(text, member, kind)) return `${member.name} is not ${kind}`;
    const inner = member.name === "meta"
      ? META_KINDS
      : member.name === "dead_letter"
      ? DEAD_LETTER_KINDS
      : undefined;
    const finding = inner && illTypedInside(text, member, inner);
    if (finding) return finding;
  }
  return null;
}

function illTypedInside(
  text: string,
  outer: Member,
  kinds: ReadonlyMap<string, Kind>,
): string | null {
  const names = kinds === META_KINDS ? META_NAMES : DEAD_LETTER_NAMES;
  for (const member of nested(text, outer, names)?.members ?? []) {
    const kind = kinds.get(member.name);
    if (kind !== undefined && !isKind(text, member, kind)) {
      return `${outer.name}.${member.name} is not ${kind}`;
    }
  }
  return null;
}

function isKind(text: string, { valueStart, valueEnd }: Member, kind: Kind): boolean {
  if (text.startsWith("null", valueStart)) return true;
  const first = text.charCodeAt(valueStart);
  if (kind === "a string") return first === QUOTE;
  if (kind === "an object") return first === OPEN_OBJECT;
  return isInt64(text.slice(valueStart, valueEnd));
}

/** Whether a number literal is an integer within 64 bits, neither fraction nor exponent. */
function isInt64(literal: string): boolean {
  // Nineteen digits and a sign; more of them cannot fit, as JSON has no leading zeros.
  if (literal.length > 20 || !/^-?[0-9]+$/.test(literal)) return false;
  if (literal.length < 19) return true;
  const value = BigInt(literal);
  return value >= -(2n ** 63n) && value < 2n ** 63n;
}

/**
 * Where the published Python SDK and this library may differ, and nowhere else.
 *
 * @module
 */

import type { Node } from "../../core/_reference.ts";
import { type Disagreement, memberOf, nodeOf, textOf } from "./_comparison.ts";

/** One difference that the contract knows. */
export interface Difference {
  /** The rule that says so. */
  readonly rule: string;
  /** What is different. */
  readonly name: string;
  /** A body on which it shows. */
  readonly example: string | Uint8Array;
  /** Whether it accounts for what was found. */
  explains(found: Disagreement, body: Uint8Array): boolean;
}

/** A number as its literal; undefined for anything else. */
function literal(node: Node | undefined): string | undefined {
  return node?.kind === "number" ? node.raw : undefined;
}

function isInteger(number: string): boolean {
  return /^-?[0-9]+$/.test(number);
}

function versionOf(body: Uint8Array): Node | undefined {
  return memberOf(memberOf(nodeOf(body) ?? undefined, "meta"), "schema_version");
}

function attemptsOf(body: Uint8Array): string {
  return literal(memberOf(nodeOf(body) ?? undefined, "attempts")) ?? "";
}

/** The count of a body; 0 when it has none that is an integer. */
function countOf(body: Uint8Array): bigint {
  const attempts = attemptsOf(body);
  return isInteger(attempts) ? BigInt(attempts) : 0n;
}

/** A text with other characters in place of its strings. */
function withoutStrings(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""');
}

/** The deepest nesting that the brackets of a body show. */
function depthOf(body: Uint8Array): number {
  let depth = 0;
  let deepest = 0;
  for (const char of withoutStrings(textOf(body) ?? "")) {
    if (char === "{" || char === "[") deepest = Math.max(deepest, ++depth);
    else if (char === "}" || char === "]") depth--;
  }
  return deepest;
}

/** Whether a number anywhere passes a test. */
function someNumber(body: Uint8Array, test: (number: string) => boolean): boolean {
  const numbers = withoutStrings(textOf(body) ?? "").match(/-?[0-9][-+.0-9eE]*/g) ?? [];
  return numbers.some(test);
}

function someText(node: Node, test: (text: string) => boolean): boolean {
  return test(node.text ?? "") || (node.items ?? []).some((item) => someText(item, test)) ||
    (node.members ?? []).some(([name, value]) => test(name) || someText(value, test));
}

/** Whether the Python SDK reads something in a body that is no JSON to us, both calling it poison. */
function readsMore({ aspect, ours }: Disagreement): boolean {
  switch (aspect) {
    case "decoded":
      return ours === "empty";
    case "urn":
    case "warnings":
      return ours === "";
    default:
      return aspect === "accepts" && ours === "false";
  }
}

/** Whether the Python SDK cannot read a body that we read. */
function readsLess({ aspect, ours, theirs }: Disagreement, error: string): boolean {
  switch (aspect) {
    case "verdict":
      return ours === "ok" && theirs === "poison";
    case "decoded":
      return theirs === error;
    case "urn":
    case "warnings":
      return theirs === "";
    default:
      return aspect === "accepts" && theirs === "false";
  }
}

/** An order of names without one of them. */
function orderWithout(order: string, name: string): string {
  return order.split(" ").filter((own) => own !== name).join(" ");
}

/** Whether two orders differ as those of a folded alias do. */
function isFolded(ours: string, theirs: string): boolean {
  return ours.startsWith("job ") && / job( attempts)?$/.test(theirs) &&
    orderWithout(ours, "job") === orderWithout(theirs, "job");
}

const NOT_UTF8 = Uint8Array.of(...new TextEncoder().encode('{"job":"u","x":"'), 0xff, 0x22, 0x7d);

/** All of them. */
export const DIFFERENCES: readonly Difference[] = [
  {
    rule: "C47, G10",
    name: "a schema_version other than 1 is poison here and goes to the handler there",
    example: '{"job":"u","meta":{"schema_version":2}}',
    explains({ aspect, ours, theirs }, body) {
      const version = literal(versionOf(body)) ?? "1";
      return aspect === "verdict" && ours === "poison" && theirs === "ok" &&
        isInteger(version) && BigInt(version) !== 1n;
    },
  },
  {
    rule: "C68",
    name: "the deepest nesting is 1000 levels here and the interpreter's own there, from about 980",
    example: `{"job":"u","x":${"[".repeat(1000)}${"]".repeat(1000)}}`,
    explains(found, body) {
      const { aspect, theirs } = found;
      const depth = depthOf(body);
      if (depth < 980) return false;
      if (theirs === "RecursionError" || (aspect === "values" && theirs === "none")) return true;
      if (depth <= 1000) return readsLess(found, "RecursionError");
      return aspect === "verdict" ? theirs === "ok" : readsMore(found);
    },
  },
  {
    rule: "C70",
    name: "an integer of more than 4300 digits is poison there, wherever it stands",
    example: `{"job":"u","x":${"1".repeat(4301)}}`,
    explains: (found, body) =>
      someNumber(body, (number) => /^-?[0-9]{4301,}$/.test(number)) && readsLess(found, "empty"),
  },
  {
    rule: "C28",
    name: "a job that comes from the alias is the first member here and the last one there",
    example: '{"trace_id":"t","urn":"u","attempts":0}',
    explains: ({ aspect, ours, theirs }) => aspect === "order" && isFolded(ours, theirs),
  },
  {
    rule: "C61",
    name: "attempts that were missing come before dead_letter here and last there",
    example: '{"job":"u","dead_letter":{}}',
    explains({ aspect, ours, theirs }, body) {
      const root = nodeOf(body) ?? undefined;
      if (memberOf(root, "attempts") || !memberOf(root, "dead_letter")) return false;
      const [left, right] = [orderWithout(ours, "attempts"), orderWithout(theirs, "attempts")];
      return aspect === "order" && theirs.endsWith(" attempts") &&
        (left === right || isFolded(left, right));
    },
  },
  {
    rule: "C139a, R37",
    name: "negative attempts count as 0 here and stay negative there",
    example: '{"job":"u","attempts":-4}',
    explains({ aspect, ours, theirs }, body) {
      const count = countOf(body);
      return aspect === "attempts" && count < 0n && ours === "1" && theirs === `${count + 1n}`;
    },
  },
  {
    rule: "C139a",
    name: "attempts end at 2^53-1 here and go on there",
    example: '{"job":"u","attempts":9223372036854775807}',
    explains({ aspect, ours, theirs }, body) {
      const count = countOf(body);
      return aspect === "attempts" && count >= BigInt(Number.MAX_SAFE_INTEGER) &&
        ours === `${Number.MAX_SAFE_INTEGER}` && theirs === `${count + 1n}`;
    },
  },
  {
    rule: "C67",
    name: "a retry with an escaped lone surrogate keeps it here and fails or is broken there",
    example: '{"job":"u","x":"\\ud800"}',
    explains({ aspect, theirs }, body) {
      const node = nodeOf(body);
      return aspect === "values" && theirs === "none" && node !== null &&
        someText(node, (text) => !text.isWellFormed());
    },
  },
  {
    rule: "C60, C70",
    name:
      "a retry with an unknown number that is no finite double keeps it here and is no JSON there",
    example: '{"job":"u","x":1e400}',
    explains: ({ aspect, theirs }, body) =>
      aspect === "values" && theirs === "none" &&
      someNumber(body, (number) => !isInteger(number) && !Number.isFinite(Number(number))),
  },
  {
    rule: "C39, C40",
    name: "accepts() takes attempts by value here and by literal there",
    example: '{"job":"u","trace_id":"t","data":{},"meta":{"schema_version":1},"attempts":1.0}',
    explains({ aspect, ours, theirs }, body) {
      const attempts = attemptsOf(body);
      return aspect === "accepts" && attempts !== "" && ours !== theirs &&
        ours === `${Number.isInteger(Number(attempts))}` && theirs === `${isInteger(attempts)}`;
    },
  },
  {
    rule: "C39",
    name: "accepts() takes the schema_version true there",
    example: '{"job":"u","trace_id":"t","data":{},"meta":{"schema_version":true},"attempts":0}',
    explains: ({ aspect, theirs }, body) =>
      aspect === "accepts" && theirs === "true" && versionOf(body)?.raw === "true",
  },
  {
    rule: "C24, C66",
    name: "decode() of what is not UTF-8 is empty here and reads it there, poison on both sides",
    example: NOT_UTF8,
    explains: (found, body) => textOf(body) === null && readsMore(found),
  },
  {
    rule: "C24, C71",
    name: "decode() of NaN and Infinity is empty here and reads them there, poison on both sides",
    example: '{"job":"u","x":NaN}',
    explains: (found, body) =>
      /NaN|Infinity/.test(withoutStrings(textOf(body) ?? "")) && readsMore(found),
  },
];

/** The differences that account for what was found on a body; empty when none does. */
export function explanations(found: Disagreement, body: Uint8Array): readonly Difference[] {
  return DIFFERENCES.filter((difference) => difference.explains(found, body));
}

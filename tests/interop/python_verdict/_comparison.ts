/**
 * What both sides say about one body, aspect by aspect.
 *
 * @module
 */

import {
  EnvelopeCodec,
  type EnvelopeWarning,
  identityVerdict,
  readEnvelope,
  reemit,
} from "@bq/core";
import { reconcile, saturate } from "../../../core/attempts.ts";
import { type Node, parseJson } from "../../core/_reference.ts";
import type { PythonAnswer } from "./_python.ts";

/** One thing on which both sides can differ. `attempts`, `values` and `order` are those of the retry. */
export type Aspect =
  | "verdict"
  | "decoded"
  | "urn"
  | "accepts"
  | "warnings"
  | "attempts"
  | "values"
  | "order";

/** A difference between both sides. */
export interface Disagreement {
  readonly aspect: Aspect;
  readonly ours: string;
  readonly theirs: string;
}

type Facts = Readonly<Partial<Record<Aspect, string>>>;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a body, or null when it is not UTF-8. */
export function textOf(body: Uint8Array): string | null {
  try {
    return decoder.decode(body);
  } catch {
    return null;
  }
}

/** A body as strict JSON, or null. */
export function nodeOf(body: Uint8Array): Node | null {
  const text = textOf(body);
  try {
    return text === null ? null : parseJson(text);
  } catch {
    return null;
  }
}

/** The last occurrence of a member. */
export function memberOf(object: Node | undefined, name: string): Node | undefined {
  return object?.members?.findLast(([own]) => own === name)?.[1];
}

/**
 * A value in a form that is the same for equal values: the last of repeated members, members sorted,
 * integers exact, other numbers as the double they stand for.
 */
function valueOf(node: Node): string {
  switch (node.kind) {
    case "object": {
      const members = new Map(node.members);
      const names = [...members.keys()].sort();
      const texts = names.map((name) =>
        `${JSON.stringify(name)}:${valueOf(members.get(name) as Node)}`
      );
      return `{${texts.join(",")}}`;
    }
    case "array":
      return `[${(node.items ?? []).map(valueOf).join(",")}]`;
    case "string":
      return JSON.stringify(node.text);
    case "number":
      return /[.eE]/.test(node.raw)
        ? `double ${Object.is(Number(node.raw), -0) ? "-0" : Number(node.raw)}`
        : `${BigInt(node.raw)}`;
    default:
      return node.raw;
  }
}

/** What a retry says, or `values` "none" when it is no JSON object. */
function factsOfRetry(retry: Uint8Array | null): Facts {
  const node = retry && nodeOf(retry);
  if (node?.kind !== "object") return { values: "none" };
  const others = (node.members ?? []).filter(([name]) => name !== "attempts");
  const attempts = memberOf(node, "attempts");
  return {
    attempts: attempts ? valueOf(attempts) : "none",
    values: valueOf({ ...node, members: others }),
    order: [...new Set((node.members ?? []).map(([name]) => name))].join(" "),
  };
}

function ours(body: Uint8Array): Facts & { readonly retry: Uint8Array } {
  const { verdict } = identityVerdict(body);
  const reading = readEnvelope(body);
  const judged = reading.verdict();
  const good = verdict === "ok" && judged.versionSupported;
  const warnings: EnvelopeWarning[] = [];
  let decoded = "envelope";
  let envelope = {};
  try {
    envelope = EnvelopeCodec.decode(body, { onWarning: (warning) => warnings.push(warning) });
    if (Object.keys(envelope).length === 0) decoded = "empty";
  } catch (error) {
    decoded = (error as Error).name;
  }
  const attempts = saturate(reconcile(reading.attempts, {}) + 1);
  return {
    verdict: good ? "ok" : "poison",
    decoded,
    urn: EnvelopeCodec.urn(envelope),
    accepts: `${EnvelopeCodec.accepts(envelope)}`,
    warnings: [...new Set(warnings.map(({ pointer }) => pointer))].sort().join(" "),
    retry: good ? reemit(body, { attempts, canonical: judged.canonical }) : new Uint8Array(),
  };
}

function theirs(answer: PythonAnswer): Facts {
  const { verdict, decoded, urn, accepts, warnings } = answer;
  return { verdict, decoded, urn, accepts: `${accepts}`, warnings: warnings.join(" ") };
}

/** The result of a comparison. */
export interface Comparison {
  /** What the Python SDK says of the body. */
  readonly verdict: "ok" | "poison";
  readonly disagreements: readonly Disagreement[];
}

/** Compares both sides. The retries are compared where both take the body. */
export function compare(body: Uint8Array, answer: PythonAnswer): Comparison {
  const { retry, ...left } = ours(body);
  const sides: [Facts, Facts][] = [[left, theirs(answer)]];
  if (left.verdict === "ok" && answer.verdict === "ok") {
    const stored = answer.retry === null ? null : Buffer.from(answer.retry, "base64");
    const pair: [Facts, Facts] = [factsOfRetry(retry), factsOfRetry(stored)];
    // Without a retry of theirs there is one thing to say, not three.
    sides.push(pair[1].values === "none" ? [{ values: pair[0].values ?? "" }, pair[1]] : pair);
  }
  const disagreements = sides.flatMap(([a, b]) =>
    (Object.keys({ ...a, ...b }) as Aspect[])
      .filter((aspect) => a[aspect] !== b[aspect])
      .map((aspect) => ({ aspect, ours: a[aspect] ?? "", theirs: b[aspect] ?? "" }))
  );
  return { verdict: answer.verdict, disagreements };
}

/**
 * A slow and simple reader of bodies, written from the contract alone: the tests hold the codec
 * against it.
 *
 * @module
 */

/** A JSON value with its literal. */
export interface Node {
  readonly kind: "null" | "boolean" | "number" | "string" | "array" | "object";
  readonly raw: string;
  readonly text?: string;
  readonly items?: readonly Node[];
  readonly members?: readonly (readonly [name: string, value: Node])[];
}

/** Parses one strict JSON text; throws on anything else. */
export function parseJson(text: string): Node {
  let at = 0;
  const space = (): void => {
    while (" \t\n\r".includes(text.charAt(at)) && at < text.length) at++;
  };
  const token = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found === undefined) throw new SyntaxError(`unexpected text at ${at}`);
    at += found.length;
    return found;
  };
  const string = (): string =>
    JSON.parse(token(/"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy));
  const list = <T>(close: string, item: () => T): T[] => {
    at++;
    const found: T[] = [];
    space();
    if (text[at] === close) at++;
    else {
      for (;;) {
        space();
        found.push(item());
        space();
        if (text[at++] === close) break;
        if (text[at - 1] !== ",") throw new SyntaxError(`no comma at ${at}`);
      }
    }
    return found;
  };
  const value = (): Node => {
    const start = at;
    const node = (kind: Node["kind"], rest: Partial<Node> = {}): Node => ({
      kind,
      raw: text.slice(start, at),
      ...rest,
    });
    switch (text[at]) {
      case "{": {
        const members = list("}", () => {
          const name = string();
          space();
          token(/:/y);
          space();
          return [name, value()] as const;
        });
        return node("object", { members });
      }
      case "[": {
        const items = list("]", value);
        return node("array", { items });
      }
      case '"': {
        const content = string();
        return node("string", { text: content });
      }
      case "t":
      case "f":
        token(/true|false/y);
        return node("boolean");
      case "n":
        token(/null/y);
        return node("null");
      default:
        token(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y);
        return node("number");
    }
  };
  space();
  const root = value();
  space();
  if (at !== text.length) throw new SyntaxError(`text behind the value at ${at}`);
  return root;
}

const BLANK = /^[ \t\n\v\f\r]*$/;

/** Whether a node is a string that is not blank. */
function isContent(node: Node | undefined): node is Node & { text: string } {
  return node?.kind === "string" && !BLANK.test(node.text ?? "");
}

function all(object: Node, name: string): Node[] {
  return (object.members ?? []).filter(([own]) => own === name).map(([, value]) => value);
}

function last(object: Node | undefined, name: string): Node | undefined {
  return object && all(object, name).at(-1);
}

const TYPES: Record<string, Record<string, string>> = {
  "": {
    trace_id: "string",
    data: "object",
    meta: "object",
    attempts: "int",
    dead_letter: "object",
  },
  meta: { id: "string", queue: "string", lang: "string", schema_version: "int", created_at: "int" },
  dead_letter: {
    reason: "string",
    error: "string",
    exception: "string",
    failed_at: "int",
    original_queue: "string",
    attempts: "int",
    lang: "string",
  },
};

function isOfType(node: Node, type: string): boolean {
  if (node.kind === "null") return true;
  if (type !== "int") return node.kind === type;
  if (!/^-?[0-9]+$/.test(node.raw) || node.raw.length > 40) return false;
  return BigInt.asIntN(64, BigInt(node.raw)) === BigInt(node.raw);
}

function everyNumber(node: Node, test: (raw: string) => boolean): boolean {
  if (node.kind === "number") return test(node.raw);
  return [...(node.items ?? []), ...(node.members ?? []).map(([, value]) => value)]
    .every((inner) => everyNumber(inner, test));
}

function depth(node: Node): number {
  const inner = [...(node.items ?? []), ...(node.members ?? []).map(([, value]) => value)];
  const own = node.kind === "array" || node.kind === "object" ? 1 : 0;
  return own + inner.reduce((deepest, value) => Math.max(deepest, depth(value)), 0);
}

/** What the contract says about a body. */
export interface Reference {
  readonly verdict: "ok" | "no_identity" | "poison";
  readonly urn: string;
  readonly traceId: string | null;
  readonly messageId: string;
  readonly metaQueue: string | null;
  readonly attempts: number | null;
  readonly inexactIntegers: boolean;
}

/** Reads a body by the contract; null when it is not one strict JSON object. */
export function reference(text: string): Reference | null {
  if (!text.isWellFormed()) return null;
  let root: Node;
  try {
    root = parseJson(text);
  } catch {
    return null;
  }
  if (root.kind !== "object" || depth(root) > 1000) return null;
  const typed = Object.entries(TYPES).every(([outer, members]) =>
    (outer === "" ? [root] : all(root, outer)).every((object) =>
      Object.entries(members).every(([name, type]) =>
        all(object, name).every((node) => isOfType(node, type))
      )
    )
  );
  const finite = all(root, "data").filter(({ kind }) => kind === "object")
    .every((data) => everyNumber(data, (raw) => Number.isFinite(Number(raw))));
  const job = last(root, "job");
  const urn = last(root, "urn");
  const identity = isContent(job) ? job.text : isContent(urn) ? urn.text : "";
  const meta = last(root, "meta");
  const trace = last(root, "trace_id");
  const queue = last(meta, "queue");
  const attempts = last(root, "attempts");
  const counted = attempts !== undefined && attempts.kind === "number" && isOfType(attempts, "int");
  const data = last(root, "data");
  return {
    verdict: !typed || !finite ? "poison" : identity === "" ? "no_identity" : "ok",
    urn: identity,
    traceId: isContent(trace) ? trace.text : null,
    messageId: last(meta, "id")?.text ?? "",
    metaQueue: isContent(queue) ? queue.text : null,
    attempts: counted ? Math.min(Math.max(Number(attempts.raw), 0), Number.MAX_SAFE_INTEGER) : null,
    inexactIntegers: data?.kind === "object" &&
      !everyNumber(data, (raw) => !/^-?[0-9]+$/.test(raw) || Number.isSafeInteger(Number(raw))),
  };
}

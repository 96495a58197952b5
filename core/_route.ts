import { saturate } from "./attempts.ts";
import type { IncomingEnvelope } from "./envelope.ts";
import { identityOf, isIdentity, own } from "./_fold.ts";
import { frameOfBytes, frameOfText } from "./_frame.ts";
import { integerOf, lastMember, layoutOf, metaSpan, stringOf } from "./_layout.ts";
import type { ObjectSpan } from "./_scan.ts";
import { textOf } from "./_text.ts";

/** The routing fields of a body. */
export interface Route {
  readonly urn: string;
  readonly traceId: string | null;
  readonly messageId: string;
  readonly metaQueue: string | null;
  readonly attempts: number | null;
}

/** The route of a body that cannot be read. */
export const NO_ROUTE: Route = Object.freeze({
  urn: "",
  traceId: null,
  messageId: "",
  metaQueue: null,
  attempts: null,
});

/** The routing fields of a body, found without parsing `data`. */
export function routeOf(body: Uint8Array | string): Route {
  const frame = typeof body === "string" ? frameOfText(body) : frameOfBytes(body);
  if (frame !== null) return frame;
  const text = textOf(body);
  if (text === null) return NO_ROUTE;
  const root = layoutOf(text);
  return typeof root === "string" ? NO_ROUTE : routeOfLayout(text, root);
}

/** The routing fields of any other envelope. */
export function routeOfLayout(text: string, root: ObjectSpan): Route {
  const meta = lastMember(root, "meta");
  const inner = meta === undefined ? null : metaSpan(text, meta);
  const attempts = integerOf(text, lastMember(root, "attempts"));
  return {
    urn: content(stringOf(text, lastMember(root, "job"))) ??
      content(stringOf(text, lastMember(root, "urn"))) ?? "",
    traceId: content(stringOf(text, lastMember(root, "trace_id"))),
    messageId: (inner && stringOf(text, lastMember(inner, "id"))) ?? "",
    metaQueue: content(inner && stringOf(text, lastMember(inner, "queue"))),
    attempts: attempts === null ? null : saturate(attempts),
  };
}

/** The routing fields of a parsed envelope whose members are well typed. */
export function routeOfEnvelope(envelope: IncomingEnvelope): Route {
  const meta = own(envelope, "meta");
  const id = own(meta, "id");
  const attempts = own(envelope, "attempts");
  return {
    urn: identityOf(envelope),
    traceId: content(own(envelope, "trace_id")),
    messageId: typeof id === "string" ? id : "",
    metaQueue: content(own(meta, "queue")),
    attempts: typeof attempts === "number" ? saturate(attempts) : null,
  };
}

function content(value: unknown): string | null {
  return isIdentity(value) ? value : null;
}

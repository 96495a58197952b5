import { reconcile } from "../core/attempts.ts";
import { isBlank, trimAscii } from "../core/blank.ts";
import type { Envelope } from "../core/envelope.ts";
import { UnknownUrnError } from "../core/errors.ts";
import { versionGate } from "../core/gate.ts";
import { type BodyVerdict, readEnvelope } from "../core/reading.ts";
import { uuid } from "../core/uuid.ts";
import type { Held } from "./_held.ts";
import type { Outcome } from "./decide.ts";
import type { WarningCode } from "./events.ts";
import type { SettlementPolicy } from "./policy.ts";
import type { Route, Router } from "./router.ts";

/** A message that may meet its handler. */
export interface Dispatch {
  readonly kind: "dispatch";
  readonly route: Route;
  readonly body: BodyVerdict;
}

/** What `examine` reads beside the delivery. */
export interface Examination {
  readonly router: Router;
  readonly policy: SettlementPolicy;
  readonly strict: boolean;
  warn(code: WarningCode, message: string, held: Held): void;
  /** As `warn`, but only the first time for a URN. */
  warnOnce(code: WarningCode, message: string, held: Held): void;
}

/**
 * Takes a delivery from the gate to its handler's door: gate, identity, version, strictness, route.
 * No handler has run, and a body that may not meet one never will. Contract: C135, G40.
 *
 * @param held The delivery; what is learned about it is written here.
 * @param on What to look things up in.
 * @returns The handler to run, or how it ends without one.
 */
export function examine(held: Held, on: Examination): Dispatch | Outcome {
  const { delivery } = held;
  const { body: bytes, counting, queue } = delivery;
  if (versionGate(delivery.schemaVersion) === "gated") {
    held.reconciled = reconcile(null, counting);
    return { kind: "gated", version: delivery.schemaVersion };
  }
  const wide = on.policy.poisonBeyondData === true;
  const reading = readEnvelope(bytes, { wide });
  let body = reading.verdict();
  const cause = delivery.undecodable ? "unreadable to the transport" : poisonCause(body, on);
  if (cause !== null) {
    // The count in a body that is refused is not read. Contract: P10, Q11, M4.
    held.reconciled = reconcile(null, counting);
    held.urn = reading.urn;
    held.messageId = reading.messageId;
    return { kind: "poison", cause };
  }
  // Only now: a second `job` behind `data` is seen by the verdict alone, and the last one counts.
  const urn = urnOf(delivery.route, reading.urn);
  const route = on.router.find(urn, queue);
  if (route?.bigint && body.inexactIntegers) {
    body = readEnvelope(bytes, { bigint: true, wide }).verdict();
  }
  held.urn = urn;
  held.messageId = reading.messageId;
  held.traceId = reading.traceId ?? uuid();
  held.metaQueue = reading.metaQueue;
  held.canonical = body.canonical;
  held.reconciled = reconcile(reading.attempts, counting);
  report(held, body, reading.urn, route, on);
  if (route === undefined) return { kind: "unknownUrn", error: new UnknownUrnError(urn, queue) };
  held.maxAttempts = route.maxAttempts;
  return { kind: "dispatch", route, body };
}

/** The native route decides where there is one. Contract: P12a. */
function urnOf(native: string | undefined, own: string): string {
  return native === undefined || isBlank(native) ? own : trimAscii(native);
}

function poisonCause(body: BodyVerdict, on: Examination): string | null {
  if (body.verdict !== "ok") return body.cause;
  if (!body.versionSupported) return "unsupported meta.schema_version";
  if (body.missing.includes("attempts") && on.policy.missingAttempts === "poison") {
    return "attempts is missing";
  }
  if (on.strict && body.missing.length > 0) return `incomplete: ${body.missing.join(", ")}`;
  return null;
}

function report(
  held: Held,
  body: BodyVerdict,
  ownUrn: string,
  route: Route | undefined,
  on: Examination,
): void {
  if (held.urn !== ownUrn) {
    on.warn("route_mismatch", `routed on '${held.urn}', the body says '${ownUrn}'`, held);
  }
  for (const warning of body.warnings) on.warn(warning.code, warning.message, held);
  // One event whatever is missing, and none for a message that is only given to somebody else. Contract: G11.
  if (body.missing.length > 0 && route !== undefined) {
    on.warn("incomplete_envelope", `the message lacks ${body.missing.join(", ")}`, held);
  }
  if (route?.bigint === false && body.inexactIntegers) {
    const text =
      "data holds integers beyond 2^53, which are rounded; the handler option 'bigint' " +
      "gives them exactly";
    on.warnOnce("inexact_integers", text, held);
  }
}

/** The envelope as a handler sees it: what is missing reads as C48a says. */
export function envelopeFor(body: BodyVerdict, held: Held): Envelope {
  return {
    ...body.envelope(),
    job: body.envelope()["job"] ?? held.urn,
    trace_id: held.traceId,
    data: body.data,
    meta: body.meta,
    attempts: body.envelopeAttempts,
  } as unknown as Envelope;
}

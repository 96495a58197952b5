import { readEnvelope } from "./reading.ts";

/** What {@linkcode identityVerdict} says about a body. */
export interface IdentityVerdict {
  /** `ok`, `no_identity` or `poison`; the last two have the same fate. */
  readonly verdict: "ok" | "no_identity" | "poison";
  /** Why it is not `ok`; empty otherwise. */
  readonly cause: string;
}

/**
 * Classifies a body by its types and its identity. The version is not looked at: that is a second
 * step, on `ok`. Contract: C48.
 *
 * @param body The body, bytes or text; nothing makes this throw.
 * @returns The verdict and its cause.
 *
 * @example Tell the three verdicts apart
 * ```ts
 * import { identityVerdict } from "@bq/core";
 * import assert from "node:assert/strict";
 *
 * assert.equal(identityVerdict('{"job":"urn:babel:orders:created"}').verdict, "ok");
 * assert.equal(identityVerdict('{"attempts":1}').verdict, "no_identity");
 * assert.equal(identityVerdict('{"job":"x","attempts":1.0}').verdict, "poison");
 * ```
 */
export function identityVerdict(body: Uint8Array | string): IdentityVerdict {
  const { verdict, cause } = readEnvelope(body).verdict();
  return { verdict, cause };
}

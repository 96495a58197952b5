/**
 * What a body is: the sections `identity_verdict` and `kafka_poison`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { identityVerdict } from "../../../../core/identity.ts";
import { readEnvelope } from "../../../../core/reading.ts";
import { member, text } from "../json.ts";
import type { CaseCheck } from "../run.ts";
import type { SuiteCase } from "../suite.ts";

/** The raw body of a case: text, or base64 where the bytes are no UTF-8. */
export function rawBody({ value }: Pick<SuiteCase, "value">): Uint8Array {
  if (member(value, "body_base64") === undefined) {
    return new TextEncoder().encode(text(value, "body"));
  }
  return Uint8Array.from(atob(text(value, "body_base64")), (character) => character.charCodeAt(0));
}

/** The verdict on the bytes, which the verdict on the text and the worker's reading have to share. */
function verdictOn(item: SuiteCase): string {
  const body = rawBody(item);
  const { verdict, cause } = identityVerdict(body);
  assert.equal(typeof cause, "string", "the cause is no string");
  assert.equal(readEnvelope(body).verdict().verdict, verdict, "the worker's verdict differs");
  if (Object.hasOwn(item.value, "body")) {
    assert.equal(
      identityVerdict(text(item.value, "body")).verdict,
      verdict,
      "text and bytes differ",
    );
  }
  return verdict;
}

/** Section `kafka_poison`: all three verdicts are told apart. Contract: C44–C48, K53. */
export const checkThreeVerdicts: CaseCheck = (item) => {
  assert.equal(verdictOn(item), text(item.value, "expect"), "the verdict");
};

/** Section `identity_verdict`: what is not `ok` takes the poison route. Contract: C44–C48, G10. */
export const checkIdentityVerdict: CaseCheck = (item) => {
  const verdict = verdictOn(item) === "ok" ? "ok" : "poison";
  assert.equal(verdict, text(item.value, "expect"), "the verdict");
};

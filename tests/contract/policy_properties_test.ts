import assert from "node:assert/strict";
import fc from "fast-check";
import { LARGEST_ATTEMPTS } from "../../core/attempts.ts";
import { NonRetriableError, RetryAfterError, UnknownUrnError } from "../../core/errors.ts";
import { decide, type DecideOptions, type Outcome, type Subject } from "../../runtime/decide.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import { test } from "../harness.ts";
import { blockOf, bytes, openEnvelope, POLICIES, text } from "./_decisions.ts";

const millis = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e300, noNaN: true }));

const thrown: fc.Arbitrary<unknown> = fc.oneof(
  fc.string().map((message) => new Error(message)),
  fc.string().map((message) => new NonRetriableError(message)),
  millis.map((delayMs) => new RetryAfterError(delayMs)),
  fc.constantFrom(undefined, null, "text", 7, Symbol("s"), Object.create(null), {
    toString(): string {
      throw new Error("no text");
    },
  }),
);

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constantFrom<Outcome>({ kind: "handled" }, { kind: "writeFailed" }, { kind: "shutdown" }),
  thrown.map((error): Outcome => ({ kind: "failed", error })),
  fc.string().map((urn): Outcome => ({
    kind: "unknownUrn",
    error: new UnknownUrnError(urn, "shop"),
  })),
  fc.string().map((cause): Outcome => ({ kind: "poison", cause })),
  fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.uint8Array())
    .map((version): Outcome => ({ kind: "gated", version })),
);

const optionSets: fc.Arbitrary<DecideOptions> = fc.record({
  onUnknownUrn: fc.constantFrom(undefined, "fail", "delete", "release", "dead_letter"),
  maxAttempts: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(LARGEST_ATTEMPTS)),
  deadLetter: fc.boolean(),
  deadLetterQueue: fc.constantFrom(undefined, null, "graveyard"),
  deadLetterSuffix: fc.constantFrom(undefined, "-bad"),
  retry: fc.record({
    baseMs: millis,
    multiplier: fc.double({ min: 1, max: 100, noNaN: true }),
    maxMs: millis,
    jitter: fc.constantFrom("none", "full"),
    maxHoldMs: fc.integer({ min: 0, max: 60_000 }),
  }),
  unknownUrnReleaseDelayMs: millis,
});

const counts = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constant(LARGEST_ATTEMPTS));

interface Draw {
  readonly outcome: Outcome;
  readonly delivery: Subject;
  readonly set: DecideOptions;
}

const draws: fc.Arbitrary<Draw> = fc.record({
  outcome: outcomes,
  set: optionSets,
  reconciled: counts,
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  raw: fc.uint8Array(),
  metaQueue: fc.constantFrom(undefined, null, "", "shop"),
}).map(({ outcome, set, reconciled, random, raw, metaQueue }) => {
  const unreadable = outcome.kind === "poison" || outcome.kind === "gated";
  const body = unreadable ? raw : bytes(openEnvelope(reconciled) + "}");
  const delivery = { queue: "shop-eu", body, metaQueue, reconciled, nowMs: 1, random };
  return { outcome, delivery, set };
});

function forEachDraw(check: (draw: Draw, broker: string, policy: SettlementPolicy) => void): void {
  fc.assert(
    fc.property(draws, (draw) => {
      for (const [broker, policy] of Object.entries(POLICIES)) check(draw, broker, policy);
    }),
    { numRuns: 300 },
  );
}

/** Whether a dead-letter record may be written. Contract: G30. */
function recordsOn(set: DecideOptions): boolean {
  if (set.deadLetterQueue === null) return false;
  return set.deadLetter || set.deadLetterQueue !== undefined || set.onUnknownUrn === "dead_letter";
}

test("decide() is pure: equal input gives equal answers, and the body is never written to", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    const before = delivery.body.slice();
    const first = decide(outcome, delivery, policy, set);
    assert.deepEqual(decide(outcome, delivery, policy, set), first, broker);
    assert.deepEqual(delivery.body, before, broker);
  });
});

test("decide() keeps every wait finite and every hold within retry.maxHoldMs", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    const { verdict, holdMs, requestedMs } = decide(outcome, delivery, policy, set);
    const fixed = policy.writeFailed.holdMs;
    assert(Number.isInteger(holdMs) && holdMs >= 0, broker);
    assert(holdMs <= Math.max(fixed, set.retry.maxHoldMs), broker);
    if (verdict.kind === "retry" || verdict.kind === "release") {
      assert(Number.isSafeInteger(verdict.delayMs) && verdict.delayMs >= 0, broker);
      assert(holdMs === 0 || verdict.delayMs === 0, broker);
      assert(requestedMs === undefined || requestedMs > holdMs + verdict.delayMs, broker);
    } else assert.equal(requestedMs, undefined, broker);
  });
});

test("decide() never writes a record that is switched off, redis poison excepted", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    const { verdict } = decide(outcome, delivery, policy, set);
    const always = broker.startsWith("redis") && outcome.kind === "poison";
    if (always) assert.equal(verdict.kind, "deadLetter");
    else if (!recordsOn(set)) assert.notEqual(verdict.kind, "deadLetter", broker);
  });
});

test("decide() never loses a failure that may be recorded", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    if (outcome.kind !== "failed") return;
    const { verdict } = decide(outcome, delivery, policy, set);
    if (recordsOn(set)) assert.notEqual(verdict.kind, "ack", broker);
  });
});

test("decide() writes no count above the largest integer, and a retry stays below the cap", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    const { verdict } = decide(outcome, delivery, policy, set);
    if (verdict.kind === "retry") {
      assert(verdict.attempts < set.maxAttempts, broker);
      assert.equal(verdict.attempts, delivery.reconciled + 1, broker);
    }
    if (verdict.kind === "deadLetter" && verdict.reason !== "gated") {
      const attempts = Number(blockOf(verdict.record)["attempts"]);
      assert(attempts <= LARGEST_ATTEMPTS && attempts >= delivery.reconciled, broker);
    }
  });
});

test("decide() treats an explicit fail like an unset strategy", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    const unset = decide(outcome, delivery, policy, { ...set, onUnknownUrn: undefined });
    const fail = decide(outcome, delivery, policy, { ...set, onUnknownUrn: "fail" });
    assert.deepEqual(fail, unset, broker);
  });
});

test("decide() treats release as fail for everything but an unknown URN (G24, C152)", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    if (outcome.kind === "unknownUrn") return;
    const release = decide(outcome, delivery, policy, { ...set, onUnknownUrn: "release" });
    const fail = decide(outcome, delivery, policy, { ...set, onUnknownUrn: "fail" });
    assert.deepEqual(release, fail, broker);
  });
});

test("decide() settles a gated message alike whatever the counters and caps say (G24)", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    if (outcome.kind !== "gated") return;
    const first = { ...delivery, reconciled: 0 };
    const decision = decide(outcome, delivery, policy, set);
    assert.deepEqual(decide(outcome, first, policy, { ...set, maxAttempts: 1 }), decision, broker);
    if (decision.verdict.kind === "deadLetter") {
      assert.equal(decision.verdict.record, delivery.body, broker);
    }
  });
});

test("decide() never retries where nothing can be retried", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    if (policy.retry === "possible") return;
    const { verdict } = decide(outcome, delivery, policy, set);
    assert.notEqual(verdict.kind, "retry", broker);
    assert.notEqual(verdict.kind, "release", broker);
  });
});

test("a poison record holds the body (C112, C113)", () => {
  forEachDraw(({ outcome, delivery, set }, broker, policy) => {
    if (outcome.kind !== "poison") return;
    const { verdict } = decide(outcome, delivery, policy, set);
    if (verdict.kind !== "deadLetter") return;
    const record = JSON.parse(text(verdict.record));
    assert.equal(record.dead_letter.reason, "poison", broker);
    assert.equal(record.dead_letter.original_queue, "shop-eu", broker);
    if (record.raw === undefined) return;
    const kept = record.raw_encoding === "base64"
      ? Uint8Array.from(atob(record.raw), (c) => c.charCodeAt(0))
      : bytes(record.raw);
    assert.deepEqual(kept, delivery.body, broker);
  });
});

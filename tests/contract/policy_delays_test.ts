import assert from "node:assert/strict";
import { NonRetriableError, RetryAfterError, UnknownUrnError } from "../../core/errors.ts";
import { decide, type DecideOptions, type Decision, type Outcome } from "../../runtime/decide.ts";
import { backoffMs } from "../../runtime/retry.ts";
import { test } from "../harness.ts";
import { backoff, options, POLICIES, RECEIVED_FROM, say, subject } from "./_decisions.ts";

const BOOM: Outcome = { kind: "failed", error: new Error("boom") };
const UNKNOWN: Outcome = {
  kind: "unknownUrn",
  error: new UnknownUrnError("urn:babel:shop:paid", RECEIVED_FROM),
};

const DELAYS = [
  "memory",
  "redis zset",
  "rabbitmq",
  "sqs",
  "pulsar shared",
  "pulsar key_shared",
  "artemis",
];
const HOLDS = ["redis legacy", "service bus", "pulsar exclusive", "pulsar failover"];

function on(
  broker: string,
  outcome: Outcome,
  overrides: Partial<DecideOptions> = {},
  reconciled = 0,
): Decision {
  const policy = POLICIES[broker];
  assert(policy !== undefined, broker);
  return decide(outcome, subject({ reconciled }), policy, options(overrides));
}

function delayOf({ verdict }: Decision): number {
  assert(verdict.kind === "retry" || verdict.kind === "release", verdict.kind);
  return verdict.delayMs;
}

test("backoffMs() grows by the multiplier and stops at the maximum (V016)", () => {
  const waits = (maxMs: number) =>
    [1, 2, 3, 4].map((n) => backoffMs(backoff({ baseMs: 2_000, multiplier: 3, maxMs }), n, 0));
  assert.deepEqual(waits(10_000), [2_000, 6_000, 10_000, 10_000]);
  assert.deepEqual(waits(0), [2_000, 6_000, 18_000, 54_000]);
  assert.deepEqual([1, 2, 3].map((n) => backoffMs(backoff(), n, 0.9)), [0, 0, 0]);
});

test("backoffMs() draws evenly below the wait with full jitter (V017)", () => {
  const full = backoff({ baseMs: 4_000, jitter: "full" });
  assert.equal(backoffMs(full, 1, 0.25), 1_000);
  assert.equal(backoffMs(full, 1, 0), 0);
  assert.equal(backoffMs(backoff({ baseMs: 4_000 }), 1, 0.25), 4_000);
});

test("backoffMs() draws from the capped wait, not from the one before the cap", () => {
  const retry = backoff({ baseMs: 1_000, multiplier: 10, maxMs: 8_000, jitter: "full" });
  assert.equal(backoffMs(retry, 9, 0.5), 4_000);
});

test("backoffMs() does not round", () => {
  assert.equal(backoffMs(backoff({ baseMs: 1.5 }), 1, 0), 1.5);
  assert.equal(backoffMs(backoff({ baseMs: 500, multiplier: 3 }), 3, 0), 4_500);
});

test("backoffMs() stays a finite number when the factor overflows", () => {
  const counted = Number.MAX_SAFE_INTEGER;
  for (const jitter of ["none", "full"] as const) {
    for (const random of [0, 0.5]) {
      const growing = backoff({ baseMs: 1, multiplier: 2, jitter });
      assert(Number.isFinite(backoffMs(growing, counted, random)));
      assert.equal(backoffMs(backoff({ multiplier: 2, jitter }), counted, random), 0);
    }
  }
  assert.equal(backoffMs(backoff({ baseMs: 1, multiplier: 2, maxMs: 60_000 }), counted, 0), 60_000);
});

for (const broker of DELAYS) {
  test(`decide() lets ${broker} delay a retry and a release`, () => {
    const retry = backoff({ baseMs: 2_000, multiplier: 3 });
    const second = on(broker, BOOM, { retry }, 1);
    assert.equal(second.holdMs, 0);
    assert.equal(delayOf(second), 6_000);
    assert.equal(second.requestedMs, undefined);
    const release = { onUnknownUrn: "release", unknownUrnReleaseDelayMs: 7_000 } as const;
    assert.equal(delayOf(on(broker, UNKNOWN, release)), 7_000);
    assert.equal(on(broker, UNKNOWN, release).holdMs, 0);
    assert.equal(delayOf(on(broker, UNKNOWN, { onUnknownUrn: "release" })), 0);
  });
}

for (const broker of HOLDS) {
  test(`decide() holds a delayed retry in the worker on ${broker}`, () => {
    const held = on(broker, BOOM, { retry: backoff({ baseMs: 2_000 }) });
    assert.equal(delayOf(held), 0);
    assert.equal(held.holdMs, 2_000);
    assert.equal(held.requestedMs, undefined);
    assert.equal(on(broker, BOOM).holdMs, 0);
  });

  test(`decide() cuts a hold at retry.maxHoldMs on ${broker} and says so`, () => {
    const cut = on(broker, BOOM, { retry: backoff({ baseMs: 120_000 }) });
    assert.equal(delayOf(cut), 0);
    assert.equal(cut.holdMs, 30_000);
    assert.equal(cut.requestedMs, 120_000);
    const exact = on(broker, BOOM, { retry: backoff({ baseMs: 120_000, maxHoldMs: 120_000 }) });
    assert.equal(exact.holdMs, 120_000);
    assert.equal(exact.requestedMs, undefined);
  });

  test(`decide() holds a release on ${broker}: a second when no delay is set`, () => {
    const release = { onUnknownUrn: "release" } as const;
    const bare = on(broker, UNKNOWN, release);
    assert.equal(bare.holdMs, 1_000);
    assert.equal(delayOf(bare), 0);
    assert.equal(bare.requestedMs, undefined);
    const delayed = on(broker, UNKNOWN, { ...release, unknownUrnReleaseDelayMs: 45_000 });
    assert.equal(delayed.holdMs, 30_000);
    assert.equal(delayed.requestedMs, 45_000);
    const short = on(broker, UNKNOWN, { ...release, retry: backoff({ maxHoldMs: 200 }) });
    assert.equal(short.holdMs, 200);
    assert.equal(short.requestedMs, undefined);
  });
}

test("decide() leaves the delay to the tiers on kafka", () => {
  const retry = backoff({ baseMs: 2_000 });
  for (const outcome of [BOOM, { kind: "failed", error: new RetryAfterError(9_000) }] as const) {
    const decision = on("kafka", outcome, { retry });
    assert.equal(say(outcome, decision), "retry 1");
    assert.equal(delayOf(decision), 0);
    assert.equal(decision.requestedMs, undefined);
  }
  const release = { onUnknownUrn: "release", unknownUrnReleaseDelayMs: 9_000 } as const;
  assert.equal(delayOf(on("kafka", UNKNOWN, release)), 0);
  assert.equal(on("kafka", UNKNOWN, release).holdMs, 0);
});

test("decide() cuts a delay at 12 hours on sqs and says so (S21)", () => {
  const cut = on("sqs", BOOM, { retry: backoff({ baseMs: 43_200_001 }) });
  assert.equal(delayOf(cut), 43_200_000);
  assert.equal(cut.requestedMs, 43_200_001);
  const exact = on("sqs", BOOM, { retry: backoff({ baseMs: 43_200_000 }) });
  assert.equal(delayOf(exact), 43_200_000);
  assert.equal(exact.requestedMs, undefined);
  const release = on("sqs", UNKNOWN, {
    onUnknownUrn: "release",
    unknownUrnReleaseDelayMs: 50_000_000,
  });
  assert.equal(delayOf(release), 43_200_000);
  assert.equal(release.requestedMs, 50_000_000);
});

test("decide() cuts a delay on rabbitmq at what a delay queue can wait", () => {
  const cut = on("rabbitmq", BOOM, { retry: backoff({ baseMs: 2 ** 32 }) });
  assert.equal(delayOf(cut), 30 * 24 * 60 * 60 * 1_000);
  assert.equal(cut.requestedMs, 2 ** 32);
});

test("decide() never hands a broker a delay that no clock can add", () => {
  for (const broker of DELAYS) {
    const endless = on(broker, BOOM, {
      maxAttempts: Number.MAX_SAFE_INTEGER,
      retry: backoff({ baseMs: 1, multiplier: 10 }),
    }, 400);
    const end = subject().nowMs + delayOf(endless);
    assert(Number.isSafeInteger(end), broker);
    assert(!Number.isNaN(new Date(end).getTime()), broker);
    assert(endless.requestedMs !== undefined && endless.requestedMs > delayOf(endless), broker);
  }
});

test("decide() rounds a delay up to whole milliseconds", () => {
  const retry = backoff({ baseMs: 1_000, jitter: "full", multiplier: 1.1 });
  const { verdict } = decide(
    BOOM,
    subject({ random: 0.3333 }),
    POLICIES["memory"] ?? assert.fail(),
    options({ retry }),
  );
  assert(verdict.kind === "retry");
  assert.equal(verdict.delayMs, 334);
});

test("decide() puts the delay of a RetryAfterError in the place of the back-off", () => {
  const retry = backoff({ baseMs: 2_000, maxMs: 3_000, jitter: "full" });
  const outcome: Outcome = { kind: "failed", error: new RetryAfterError(12_000) };
  assert.equal(delayOf(on("sqs", outcome, { retry })), 12_000);
  assert.equal(on("service bus", outcome, { retry }).holdMs, 12_000);
  const now: Outcome = { kind: "failed", error: new RetryAfterError(0) };
  assert.equal(delayOf(on("sqs", now, { retry })), 0);
  assert.equal(on("service bus", now, { retry }).holdMs, 0);
});

test("decide() counts a RetryAfterError like any failure", () => {
  const outcome: Outcome = { kind: "failed", error: new RetryAfterError(1) };
  assert.equal(say(outcome, on("sqs", outcome, { deadLetter: true }, 1)), "retry 2");
  assert.equal(say(outcome, on("sqs", outcome, { deadLetter: true }, 2)), "failed 3");
});

test("decide() obeys subclasses of NonRetriableError", () => {
  class GoneError extends NonRetriableError {}
  const outcome: Outcome = { kind: "failed", error: new GoneError("gone") };
  assert.equal(say(outcome, on("sqs", outcome, { deadLetter: true })), "failed 1");
});

test("decide() delays the bounded retries of poison like any failure", () => {
  const outcome: Outcome = { kind: "poison", cause: "not JSON" };
  const retry = backoff({ baseMs: 2_000 });
  assert.equal(delayOf(on("rabbitmq", outcome, { retry })), 2_000);
  assert.equal(on("pulsar exclusive", outcome, { retry }).holdMs, 2_000);
});

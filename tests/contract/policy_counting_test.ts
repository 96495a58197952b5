import assert from "node:assert/strict";
import { LARGEST_ATTEMPTS, pulsarCounting, reconcile, sqsCounting } from "../../core/attempts.ts";
import { NonRetriableError } from "../../core/errors.ts";
import { decide, type DecideOptions, type Decision, type Outcome } from "../../runtime/decide.ts";
import type { Verdict } from "../../runtime/transport.ts";
import { test } from "../harness.ts";
import {
  blockOf,
  bytes,
  openEnvelope,
  options,
  POLICIES,
  say,
  subject,
  text,
} from "./_decisions.ts";

const BOOM: Outcome = { kind: "failed", error: new Error("boom") };
const POISON: Outcome = { kind: "poison", cause: "not JSON" };

function on(
  broker: string,
  outcome: Outcome,
  reconciled: number,
  overrides: Partial<DecideOptions> = {},
  body?: Uint8Array,
): Decision {
  const policy = POLICIES[broker] ?? assert.fail(broker);
  const delivery = subject(body === undefined ? { reconciled } : { reconciled, body });
  return decide(outcome, delivery, policy, options(overrides));
}

for (const broker of Object.keys(POLICIES).filter((name) => name !== "kafka without tiers")) {
  test(`three deliveries under a cap of 3 on ${broker} (V018, V112)`, () => {
    const said = [0, 1, 2].map((reconciled) =>
      say(BOOM, on(broker, BOOM, reconciled, { deadLetter: true }))
    );
    assert.deepEqual(said, ["retry 1", "retry 2", "failed 3"]);
    assert.equal(say(BOOM, on(broker, BOOM, 0, { deadLetter: true, maxAttempts: 1 })), "failed 1");
    assert.equal(say(BOOM, on(broker, BOOM, 7, { deadLetter: true })), "failed 8");
  });

  test(`both counters of a record on ${broker} say the same (V019, G35)`, () => {
    const { verdict } = on(broker, BOOM, 2, { deadLetter: true });
    assert(verdict.kind === "deadLetter");
    assert.equal(JSON.parse(text(verdict.record)).attempts, 3);
    assert.equal(blockOf(verdict.record)["attempts"], 3);
  });
}

test("a broker's own count replaces the one in the body in every record (G35)", () => {
  const body = bytes(openEnvelope(0) + "}");
  const reconciled = reconcile(0, sqsCounting("3"));
  const failed = on("sqs", BOOM, reconciled, { deadLetter: true }, body).verdict;
  assert(failed.kind === "deadLetter");
  assert.equal(JSON.parse(text(failed.record)).attempts, 3);
  const error = new Error("unknown");
  const strategy = { onUnknownUrn: "dead_letter" } as const;
  const direct = on("sqs", { kind: "unknownUrn", error }, reconciled, strategy, body).verdict;
  assert(direct.kind === "deadLetter");
  assert.equal(JSON.parse(text(direct.record)).attempts, 2);
  assert.equal(blockOf(direct.record)["attempts"], 2);
});

test("an unknown URN under dead_letter is recorded uncounted and without an error (V020)", () => {
  const error = new Error("unknown");
  const { verdict } = on("memory", { kind: "unknownUrn", error }, 0, {
    onUnknownUrn: "dead_letter",
  });
  assert(verdict.kind === "deadLetter");
  assert.equal(verdict.reason, "unknown_urn");
  assert.equal(JSON.parse(text(verdict.record)).attempts, 0);
  assert.deepEqual(blockOf(verdict.record), {
    reason: "unknown_urn",
    error: null,
    exception: null,
    failed_at: 1_760_000_005_000,
    original_queue: "shop",
    attempts: 0,
    lang: "node",
  });
});

test("a count at the largest integer is past every cap and is not counted on (V035)", () => {
  for (const attempts of ["9007199254740991", "9007199254740993"]) {
    const body = bytes(openEnvelope(0).replace('"attempts":0', `"attempts":${attempts}`) + "}");
    const reconciled = reconcile(LARGEST_ATTEMPTS, {});
    const { verdict } = on("memory", BOOM, reconciled, { deadLetter: true }, body);
    assert(verdict.kind === "deadLetter");
    assert.match(text(verdict.record), /"attempts":9007199254740991,"dead_letter"/);
    assert.match(text(verdict.record), /"attempts":9007199254740991,"lang"/);
    assert.equal(say(BOOM, on("memory", BOOM, reconciled, {}, body)), "drop");
  }
  const cap = { deadLetter: true, maxAttempts: LARGEST_ATTEMPTS };
  assert.equal(say(BOOM, on("memory", BOOM, LARGEST_ATTEMPTS, cap)), "failed 9007199254740991");
});

test("a negative count is retried as the first delivery (V035)", () => {
  const body = bytes(openEnvelope(-4) + "}");
  const { verdict } = on("memory", BOOM, reconcile(-4, {}), {}, body);
  assert(verdict.kind === "retry");
  assert.equal(verdict.attempts, 1);
  assert.equal(text(verdict.body), openEnvelope(1) + "}");
});

test("a retry copy differs from the body in attempts only (V022)", () => {
  const { verdict } = on("rabbitmq", BOOM, 1);
  assert(verdict.kind === "retry");
  assert.equal(text(verdict.body), openEnvelope(2) + "}");
});

test("a body known to be canonical gives the same copy and the same record", () => {
  const policy = POLICIES["rabbitmq"] ?? assert.fail();
  for (const canonical of [true, false, undefined]) {
    const retry: Verdict = decide(BOOM, subject({ canonical }), policy, options()).verdict;
    assert(retry.kind === "retry");
    assert.equal(text(retry.body), openEnvelope(1) + "}");
    const last = subject({ canonical, reconciled: 2 });
    const record: Verdict = decide(BOOM, last, policy, options({ deadLetter: true })).verdict;
    assert(record.kind === "deadLetter");
    assert(text(record.record).startsWith(openEnvelope(3) + ',"dead_letter":{"reason":"failed"'));
  }
});

test("a retry copy is made once, and only when it is read", () => {
  // A body that cannot be spliced shows that nobody tried.
  const broken = bytes("not json");
  const { verdict } = on("sqs", BOOM, 0, {}, broken);
  assert(verdict.kind === "retry");
  assert.throws(() => verdict.body);
  const readable = on("sqs", BOOM, 0).verdict;
  assert(readable.kind === "retry");
  assert.equal(readable.body, readable.body);
});

test("poison on pulsar is counted beside the body, which stays as it is (V609, V612)", () => {
  const body = bytes('{"x":1,"attempts":9}');
  const deliver = (property: string | undefined, redeliveries: number) =>
    on("pulsar shared", POISON, reconcile(null, pulsarCounting(property, redeliveries)), {}, body);
  for (const [property, counted] of [[undefined, 1], ["1", 2]] as const) {
    const { verdict } = deliver(property, 0);
    assert(verdict.kind === "retry");
    assert.equal(verdict.attempts, counted);
    assert.equal(verdict.body, body);
  }
  assert.equal(say(POISON, deliver("2", 0)), "drop");
  assert.equal(say(POISON, deliver(undefined, 2)), "drop");
});

test("poison on rabbitmq, memory and kafka is delivered up to the cap, byte for byte (V306, V903)", () => {
  const body = bytes("not json");
  for (const broker of ["rabbitmq", "memory", "kafka"]) {
    const said = [0, 1, 2].map((reconciled): string => {
      const decision = on(broker, POISON, reconciled, {}, body);
      if (decision.verdict.kind === "retry") assert.equal(decision.verdict.body, body);
      return say(POISON, decision);
    });
    assert.deepEqual(said, ["retry 1", "retry 2", "drop"], broker);
  }
});

test("service bus keeps what it dead-letters natively explained (A14, A15)", () => {
  const native = (outcome: Outcome, reconciled = 0) => {
    const { verdict } = on("service bus", outcome, reconciled);
    assert(verdict.kind === "deadLetterNatively");
    return verdict;
  };
  assert.deepEqual(native(BOOM, 2), {
    kind: "deadLetterNatively",
    reason: "max attempts exhausted",
    description: "boom",
  });
  assert.equal(
    native({ kind: "failed", error: new NonRetriableError("gone") }).reason,
    "not retriable",
  );
  const gated = native({ kind: "gated", version: "9".repeat(70) });
  assert.equal(gated.reason, "unsupported schema version");
  assert.equal(gated.description, "9".repeat(64) + "...");
  assert.equal(native(POISON).reason, "poison");
  assert.match(native(POISON).description ?? "", /not JSON/);
  const long = native({ kind: "failed", error: new Error("é".repeat(4_095) + "\u{1f980}") }, 2);
  assert.equal(long.description?.length, 4_096);
  assert(long.description?.isWellFormed());
});

test("only the zset layout calls a body without attempts poison (C48c)", () => {
  for (const [broker, policy] of Object.entries(POLICIES)) {
    const wanted = broker === "redis zset" ? "poison" : "dispatch";
    assert.equal(policy.missingAttempts, wanted, broker);
  }
});

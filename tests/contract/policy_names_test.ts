import assert from "node:assert/strict";
import { decide, type DecideOptions, type Outcome } from "../../runtime/decide.ts";
import { pulsarQueueName } from "../../transports/pulsar/policy.ts";
import { test } from "../harness.ts";
import { blockOf, options, POLICIES, subject } from "./_decisions.ts";

const BOOM: Outcome = { kind: "failed", error: new Error("boom") };
const POISON: Outcome = { kind: "poison", cause: "not JSON" };

/** Where `decide` sends a message of `queue` that is out of attempts. */
function destination(
  broker: string,
  queue: string,
  overrides: Partial<DecideOptions> = {},
  outcome: Outcome = BOOM,
): string {
  const policy = POLICIES[broker] ?? assert.fail(broker);
  const { verdict } = decide(
    outcome,
    subject({ queue }),
    policy,
    options({ maxAttempts: 1, deadLetter: true, ...overrides }),
  );
  assert(verdict.kind === "deadLetter", `${broker}: ${verdict.kind}`);
  return verdict.queue;
}

for (const broker of Object.keys(POLICIES)) {
  const own = broker === "sqs" ? "-dlq" : ".dlq";
  test(`the dead-letter queue on ${broker} is the queue with ${own}, unless named (G34)`, () => {
    assert.equal(destination(broker, "shop"), `shop${own}`);
    assert.equal(destination(broker, "shop", { deadLetterSuffix: "-bad" }), "shop-bad");
    assert.equal(destination(broker, "shop", { deadLetterQueue: "graveyard" }), "graveyard");
    assert.equal(
      destination(broker, "shop", { deadLetterQueue: "graveyard", deadLetterSuffix: "-bad" }),
      "graveyard",
    );
  });

  test(`a dead-letter queue with a name switches records on, on ${broker} (G30)`, () => {
    const named = { deadLetter: false, deadLetterQueue: "graveyard" };
    assert.equal(destination(broker, "shop", named), "graveyard");
    assert.equal(destination(broker, "shop", named, POISON), "graveyard");
  });

  test(`the policy of ${broker} is frozen`, () => {
    const policy = POLICIES[broker] ?? assert.fail(broker);
    for (const part of [policy, policy.poison, policy.retryDelay, policy.writeFailed]) {
      assert(Object.isFrozen(part));
    }
  });
}

test("the suffix stands before .fifo on sqs (V410)", () => {
  assert.equal(destination("sqs", "shop.fifo"), "shop-dlq.fifo");
  assert.equal(destination("sqs", "shop.fifo", { deadLetterSuffix: "-bad" }), "shop-bad.fifo");
  assert.equal(destination("sqs", "shop.fifo", { deadLetterQueue: "x" }), "x");
  assert.equal(destination("sqs", "shop.fifo.backup"), "shop.fifo.backup-dlq");
});

test("the partitions of a pulsar topic share one dead-letter topic (V611)", () => {
  const topic = "persistent://t/ns/shop-partition-3";
  assert.equal(destination("pulsar shared", topic), "persistent://t/ns/shop.dlq");
  assert.equal(pulsarQueueName(topic), "shop");
  assert.equal(pulsarQueueName("persistent://t/ns/shop"), "shop");
  assert.equal(pulsarQueueName("shop"), "shop");
  assert.equal(pulsarQueueName("shop-partition-x"), "shop-partition-x");
});

test("poison on redis goes to the default name when the queue is opted out (V121, C154)", () => {
  for (const broker of ["redis legacy", "redis zset"]) {
    for (const onUnknownUrn of ["fail", "delete", "release", "dead_letter"] as const) {
      const optedOut = { onUnknownUrn, deadLetterQueue: null };
      assert.equal(destination(broker, "shop", optedOut, POISON), "shop.dlq");
      assert.equal(
        destination(broker, "shop", { onUnknownUrn, deadLetter: false }, POISON),
        "shop.dlq",
      );
    }
    assert.equal(
      destination(broker, "shop", { deadLetterQueue: null, deadLetterSuffix: "-bad" }, POISON),
      "shop-bad",
    );
  }
});

test("original_queue is meta.queue when it is not blank, else the queue received from (C109)", () => {
  const cases: readonly [broker: string, metaQueue: string | null | undefined, want: string][] = [
    ["sqs", "shop", "shop"],
    ["sqs", "", "shop-eu"],
    ["sqs", " \t\n", "shop-eu"],
    ["sqs", "\u00a0", "\u00a0"],
    ["sqs", null, "shop-eu"],
    ["sqs", undefined, "shop-eu"],
    ["kafka", "shop", "shop-eu"],
    ["kafka without tiers", "shop", "shop-eu"],
  ];
  for (const [broker, metaQueue, want] of cases) {
    const { verdict } = decide(
      BOOM,
      subject({ metaQueue }),
      POLICIES[broker] ?? assert.fail(broker),
      options({ maxAttempts: 1, deadLetter: true }),
    );
    assert(verdict.kind === "deadLetter");
    assert.equal(blockOf(verdict.record)["original_queue"], want, `${broker}, ${metaQueue}`);
  }
});

test("original_queue of poison is the queue received from, whatever meta.queue says (C109)", () => {
  const { verdict } = decide(
    POISON,
    subject({ metaQueue: "shop" }),
    POLICIES["sqs"] ?? assert.fail(),
    options({ deadLetter: true }),
  );
  assert(verdict.kind === "deadLetter");
  assert.equal(blockOf(verdict.record)["original_queue"], "shop-eu");
});

import type { BabelQueueOptions, RetryOptions } from "../../runtime/options.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import { artemisPolicy } from "../../transports/artemis/policy.ts";
import { serviceBusPolicy } from "../../transports/azure-service-bus/policy.ts";
import { kafkaPolicy } from "../../transports/kafka/policy.ts";
import { memoryPolicy } from "../../transports/memory/policy.ts";
import { pulsarPolicy } from "../../transports/pulsar/policy.ts";
import { rabbitmqPolicy } from "../../transports/rabbitmq/policy.ts";
import { redisPolicy } from "../../transports/redis/policy.ts";
import { sqsPolicy } from "../../transports/sqs/policy.ts";
import type { Chance } from "./_chance.ts";

/** How the simulated broker works. */
export interface BrokerPlan {
  /** How long a delivery is held; null = until the connection ends. */
  readonly leaseMs: number | null;
  /** How long a lease really is, as a part of what was said. */
  readonly leaseDrift: number;
  /** Whether a lease can be extended. */
  readonly extend: boolean;
  /** Receives at a time. */
  readonly lanes: number;
  /** What the broker counts: nothing, deliveries, or a header on the copy. */
  readonly counting: "none" | "floor" | "replaces";
  /** Whether a retry is a copy and an acknowledgement, so that one can fail without the other. */
  readonly copies: boolean;
  /** Whether giving back unchanged counts all the same. */
  readonly returnCounts: boolean;
  /** Whether messages carry a native schema version. */
  readonly gate: boolean;
  /** Longest way of a call to the broker, and of the answer back. */
  readonly latencyMs: number;
}

/** All that is drawn for one history beside its faults. */
export interface Plan {
  readonly policy: SettlementPolicy;
  readonly broker: BrokerPlan;
  readonly options: BabelQueueOptions;
  readonly handlerTimeoutMs: number;
  readonly messages: number;
  readonly horizonMs: number;
  readonly workers: number;
  /** How late timers may fire, because the event loop is busy. */
  readonly lagMs: number;
  readonly queues: readonly string[];
}

interface Kind {
  readonly policy: () => SettlementPolicy;
  readonly leases: boolean;
  readonly counting: BrokerPlan["counting"];
  readonly copies: boolean;
}

const KINDS: readonly Kind[] = [
  { policy: memoryPolicy, leases: true, counting: "none", copies: false },
  kind(() => redisPolicy({ layout: "legacy" }), true, "none", true),
  kind(() => redisPolicy({ layout: "zset" }), true, "none", false),
  kind(rabbitmqPolicy, false, "none", true),
  kind(sqsPolicy, true, "floor", false),
  kind(serviceBusPolicy, true, "floor", false),
  kind(() => kafkaPolicy({ tiers: true }), false, "replaces", true),
  kind(() => kafkaPolicy({ tiers: false }), false, "replaces", true),
  kind(() => pulsarPolicy({ subscriptionType: "Shared" }), false, "replaces", true),
  kind(() => pulsarPolicy({ subscriptionType: "Exclusive" }), false, "replaces", true),
  kind(artemisPolicy, false, "floor", false),
];

function kind(
  policy: () => SettlementPolicy,
  leases: boolean,
  counting: BrokerPlan["counting"],
  copies: boolean,
): Kind {
  return { policy, leases, counting, copies };
}

/** Draws a history. Most brokers are like a real one; some mix what no real one does yet. */
export function drawPlan(chance: Chance): Plan {
  const base = chance.pick(KINDS);
  const mixed = chance.hits(0.25);
  const leases = mixed ? chance.hits(0.5) : base.leases;
  const policy = base.policy();
  // The longest outlasts every patience of the worker.
  const horizonMs = chance.pick([500, 5_000, 5_000, 40_000, 40_000, 120_000]);
  const long = horizonMs > 60_000;
  const counting = mixed ? chance.pick(["none", "floor", "replaces"] as const) : base.counting;
  const broker: BrokerPlan = {
    leaseMs: leases ? chance.pick(long ? [2_000, 30_000] : [60, 300, 2_000, 30_000]) : null,
    leaseDrift: chance.pick([1, 1, 1, 0.9, 1.1]),
    extend: leases && chance.hits(0.8),
    lanes: chance.between(1, 3),
    counting,
    // A broker that counts deliveries would begin anew with every copy.
    copies: mixed ? counting !== "floor" && chance.hits(0.5) : base.copies,
    returnCounts: chance.hits(0.3),
    gate: policy.gatedOff !== undefined && chance.hits(0.7),
    latencyMs: chance.pick([0, 1, 5, 50, 300]),
  };
  return {
    policy,
    broker,
    options: drawOptions(chance, long),
    handlerTimeoutMs: chance.pick([50, 500, 5_000, 60_000]),
    messages: chance.between(1, 16),
    horizonMs,
    lagMs: chance.pick([0, 0, 0, 3, 25]),
    workers: chance.hits(0.3) ? 2 : 1,
    queues: chance.hits(0.15) ? ["q1", "q2"] : ["q1"],
  };
}

function drawOptions(chance: Chance, long: boolean): BabelQueueOptions {
  const onUnknownUrn = chance.pick(
    [undefined, "fail", "delete", "release", "dead_letter"] as const,
  );
  const deadLetterQueue = chance.pick([undefined, undefined, undefined, null, "buried"]);
  return {
    queue: "q1",
    ...(onUnknownUrn === undefined ? {} : { onUnknownUrn }),
    maxAttempts: chance.between(1, 4),
    ...(chance.hits(0.9) ? { deadLetter: chance.hits(0.6) } : {}),
    ...(deadLetterQueue === undefined ? {} : { deadLetterQueue }),
    retry: drawRetry(chance),
    unknownUrnReleaseDelayMs: chance.pick([0, 100, 5_000]),
    shutdownTimeoutMs: chance.pick([0, 10, 500, 1_500, 5_000, 30_000]),
    concurrency: chance.between(1, 4),
    ...(chance.hits(0.5) ? { prefetch: chance.between(1, 4) } : {}),
    strict: chance.hits(0.2),
    handlerTimeoutMs: chance.pick([200, 2_000, 60_000]),
    pollTimeoutMs: chance.pick(long ? [1_000, 5_000] : [100, 1_000, 5_000]),
  };
}

function drawRetry(chance: Chance): RetryOptions {
  return {
    baseMs: chance.pick([0, 0, 10, 1_000]),
    multiplier: chance.pick([1, 2]),
    maxMs: chance.pick([0, 5_000]),
    jitter: chance.pick(["none", "full"] as const),
    maxHoldMs: chance.pick([100, 2_000, 30_000]),
  };
}

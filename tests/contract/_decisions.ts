/**
 * The values that every test of `decide` starts from.
 *
 * @module
 */

import type { DecideOptions, Decision, Outcome, Subject } from "../../runtime/decide.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import { artemisPolicy } from "../../transports/artemis/policy.ts";
import { serviceBusPolicy } from "../../transports/azure-service-bus/policy.ts";
import { kafkaPolicy } from "../../transports/kafka/policy.ts";
import { memoryPolicy } from "../../transports/memory/policy.ts";
import { pulsarPolicy } from "../../transports/pulsar/policy.ts";
import { rabbitmqPolicy } from "../../transports/rabbitmq/policy.ts";
import { redisPolicy } from "../../transports/redis/policy.ts";
import { sqsPolicy } from "../../transports/sqs/policy.ts";

/** Every policy that the library ships, each mode of a broker by itself. */
export const POLICIES: Readonly<Record<string, SettlementPolicy>> = {
  "memory": memoryPolicy(),
  "redis legacy": redisPolicy({ layout: "legacy" }),
  "redis zset": redisPolicy({ layout: "zset" }),
  "rabbitmq": rabbitmqPolicy(),
  "sqs": sqsPolicy(),
  "service bus": serviceBusPolicy(),
  "pulsar shared": pulsarPolicy({ subscriptionType: "Shared" }),
  "pulsar key_shared": pulsarPolicy({ subscriptionType: "KeyShared" }),
  "pulsar exclusive": pulsarPolicy({ subscriptionType: "Exclusive" }),
  "pulsar failover": pulsarPolicy({ subscriptionType: "Failover" }),
  "kafka": kafkaPolicy({ tiers: true }),
  "kafka without tiers": kafkaPolicy({ tiers: false }),
  "artemis": artemisPolicy(),
};

/** Time of every decision. */
export const NOW_MS = 1_760_000_005_000;

/** Queue that deliveries come from; `meta.queue` says `shop`, so that the two cannot be mixed up. */
export const RECEIVED_FROM = "shop-eu";

/** A canonical body with these attempts, ending before the closing brace. */
export function openEnvelope(attempts: number): string {
  return '{"job":"urn:babel:shop:paid","trace_id":"11111111-2222-4333-8444-555555555555",' +
    '"data":{"id":7,"tags":[],"n":12345678901234567890},' +
    '"meta":{"id":"aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee","queue":"shop","lang":"go",' +
    `"schema_version":1,"created_at":1760000000123,"vendor_flag":true},"attempts":${attempts}`;
}

/** The bytes of a text. */
export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The text of bytes. */
export function text(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}

/** A delivery of a canonical body, unless overridden. */
export function subject(overrides: Partial<Subject> = {}): Subject {
  const reconciled = overrides.reconciled ?? 0;
  return {
    queue: RECEIVED_FROM,
    body: bytes(openEnvelope(reconciled) + "}"),
    metaQueue: "shop",
    reconciled,
    nowMs: NOW_MS,
    random: 0.25,
    ...overrides,
  };
}

/** The defaults of the library, unless overridden. */
export function options(overrides: Partial<DecideOptions> = {}): DecideOptions {
  return {
    maxAttempts: 3,
    deadLetter: false,
    retry: backoff(),
    unknownUrnReleaseDelayMs: 0,
    ...overrides,
  };
}

/** The default back-off, unless overridden. */
export function backoff(overrides: Partial<DecideOptions["retry"]> = {}): DecideOptions["retry"] {
  return { baseMs: 0, multiplier: 1, maxMs: 0, jitter: "none", maxHoldMs: 30_000, ...overrides };
}

/** One decision in a few words, for instance `retry 1 +1s` or `failed 3`. */
export function say(outcome: Outcome, { verdict, holdMs }: Decision): string {
  const hold = holdMs === 0 ? "" : ` +${holdMs / 1000}s`;
  switch (verdict.kind) {
    case "ack":
      return (outcome.kind === "handled" ? "ack" : "drop") + hold;
    case "retry":
      return `retry ${verdict.attempts}${hold}`;
    case "deadLetter":
      return verdict.reason === "gated"
        ? `raw${hold}`
        : `${verdict.reason} ${blockOf(verdict.record).attempts}${hold}`;
    case "deadLetterNatively":
      return `native${hold}`;
    default:
      return verdict.kind + hold;
  }
}

/** The `dead_letter` member of a record. */
export function blockOf(record: Uint8Array): { readonly [member: string]: unknown } {
  return JSON.parse(text(record)).dead_letter;
}

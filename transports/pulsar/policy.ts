/**
 * How Apache Pulsar settles.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/** The subscription types, in the client's spelling. */
export type PulsarSubscriptionType = "Exclusive" | "Failover" | "Shared" | "KeyShared";

/** What the rules of Pulsar depend on. */
export interface PulsarPolicyOptions {
  /** The type of the subscription. */
  readonly subscriptionType: PulsarSubscriptionType;
}

/**
 * The queue that a topic stands for: the part after the last slash, without a partition number.
 * Contract: P2.
 *
 * @param topic A queue name or a full topic name.
 * @returns The queue name.
 */
export function pulsarQueueName(topic: string): string {
  return withoutPartition(topic.slice(topic.lastIndexOf("/") + 1));
}

/** The records of every partition go to one topic of the same tenant and namespace. Contract: G34. */
function pulsarDeadLetterQueue(queue: string, suffix: string = ".dlq"): string {
  return withoutPartition(queue) + suffix;
}

function withoutPartition(topic: string): string {
  return topic.replace(/-partition-[0-9]+$/, "");
}

/**
 * The rules of Pulsar: a retry is a copy on the same topic, then an acknowledgement; the release of an
 * unknown URN is such a copy too, so it is bounded. Delayed delivery exists on Shared and Key_Shared
 * only; elsewhere the worker holds the message.
 * Contract: the table of bindings section 7, P11–P18.
 *
 * @param options `subscriptionType`: the type of the subscription.
 * @returns The frozen policy.
 */
export function pulsarPolicy(options: PulsarPolicyOptions): SettlementPolicy {
  const delays = options.subscriptionType === "Shared" || options.subscriptionType === "KeyShared";
  return Object.freeze({
    broker: delays ? "pulsar" : "pulsar-ordered",
    deadLetterQueue: pulsarDeadLetterQueue,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: delays ? "native" : "held" }),
    release: "counted",
    poison: Object.freeze({ deletable: true, off: "retry", optedOut: "drop" }),
    gatedOff: "drop",
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "return", holdMs: 0 }),
    shutdown: "leave",
    missingAttempts: "dispatch",
  });
}

/**
 * Kafka for BabelQueue: process then commit, retry tiers, the re-inject consumer.
 *
 * @module
 */

export * from "./policy.ts";

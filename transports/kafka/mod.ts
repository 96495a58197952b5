/**
 * Kafka for BabelQueue: process then commit, retry tiers, the re-inject consumer.
 *
 * @example A producer
 * ```ts
 * import { BabelQueue } from "@bq/core";
 * import { kafka } from "@bq/kafka";
 *
 * const bq = new BabelQueue(kafka("kafka://localhost:9092"), { queue: "orders" });
 * // await bq.publish("urn:babel:orders:created", { order_id: 1042 }, { key: "customer-7" });
 * await bq.close();
 * ```
 *
 * @module
 */

export { kafka, type KafkaTransport } from "./transport.ts";
export type { BrokerOptions, ConnectionOptions, GroupOptions, KafkaOptions } from "./options.ts";
export { type ReinjectorOptions, RetryReinjector } from "./reinject.ts";
export {
  checkTopics,
  createTopics,
  type TopicFinding,
  type TopicOptions,
  topicsFor,
} from "./topics.ts";
export {
  DEFAULT_RETRY_TIERS_MS,
  delayTier,
  retryTier,
  retryTopic,
  type Tier,
  workTopicOf,
} from "./tiers.ts";
export type {
  ConsumerEvents,
  ConsumerSetup,
  IncomingRecord,
  KafkaClient,
  KafkaConsumer,
  NewTopic,
  OutgoingRecord,
  PartitionOffset,
  PartitionRange,
  RecordHeaders,
  TopicPartition,
} from "./client.ts";
export type { KafkaClientLike } from "./clients/adapt.ts";
export { kafkajsClient, type KafkajsLike, type KafkajsOptions } from "./clients/kafkajs.ts";
export type {
  KafkajsAdmin,
  KafkajsBatchPayload,
  KafkajsConsumer,
  KafkajsMessage,
  KafkajsOffsets,
  KafkajsProducer,
  KafkajsRecord,
} from "./clients/_kafkajs_like.ts";
export { platformaticClient, type PlatformaticOptions } from "./clients/platformatic.ts";
export { kafkaPolicy, type KafkaPolicyOptions } from "./policy.ts";

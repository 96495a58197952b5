/**
 * Which check runs which section, and what is carried: the one table to edit when a room is built.
 *
 * An entry that `needs` a file is not built yet. It never counts as a pass: its cases are printed in
 * a list of their own and stand in the results file as `fail` with that reason. The file it waits
 * for must not exist; when it does, the run fails until the entry is replaced by a check.
 *
 * @module
 */

import {
  checkArtemisGate,
  checkArtemisProjection,
  checkArtemisVersionGate,
} from "./checks/artemis.ts";
import {
  checkArtemisAttempts,
  checkBackoff,
  checkGate,
  checkKafkaAttempts,
  checkPulsarAttempts,
  checkServiceBusAttempts,
  checkSqsAttempts,
} from "./checks/counting.ts";
import { checkCase, checkDataShape } from "./checks/envelope.ts";
import { checkJobType, checkTrim } from "./checks/identity.ts";
import {
  checkKafkaDefaultTiers,
  checkKafkaDelay,
  checkKafkaGate,
  checkKafkaPoison,
  checkKafkaProjection,
  checkKafkaRetry,
  checkKafkaRetryTier,
  checkKafkaTopicName,
} from "./checks/kafka.ts";
import { checkPoisonRecord } from "./checks/poison_record.ts";
import { checkRabbitmqProjection } from "./checks/rabbitmq.ts";
import {
  checkRedisDelay,
  checkRedisHistory,
  checkRedisIdentity,
  checkRedisKeys,
} from "./checks/redis.ts";
import { checkExtensionWrite, checkForbiddenKey, checkReemit } from "./checks/reemit.ts";
import { checkEncodeReject } from "./checks/reject.ts";
import { checkPulsarExhaustion, checkVersionGate } from "./checks/settle.ts";
import { checkIdentityVerdict } from "./checks/verdicts.ts";
import type { CaseCheck, Plan, PlanEntry, SectionPlan } from "./run.ts";

/** The room whose presence makes the repository carry a binding. */
export const BINDING_ROOMS: ReadonlyMap<string, string> = new Map([
  ["redis", "transports/redis/mod.ts"],
  ["amqp", "transports/rabbitmq/transport.ts"],
  ["sqs", "transports/sqs/mod.ts"],
  ["asb", "transports/azure-service-bus/mod.ts"],
  ["pulsar", "transports/pulsar/mod.ts"],
  ["kafka", "transports/kafka/transport.ts"],
  ["artemis", "transports/artemis/transport.ts"],
  ["otel", "otel/mod.ts"],
]);

const needs = (path: string): PlanEntry => ({ needs: path });
const transport = (folder: string): PlanEntry => needs(`transports/${folder}/transport.ts`);

/** What the five bindings with a version slot have in common. */
function binding(folder: string, projection: string, attempts: CaseCheck): SectionPlan {
  return {
    blocks: {
      [projection]: transport(folder),
      attempts_reconciliation: { check: attempts },
      schema_version_gate: { check: checkGate },
    },
  };
}

/** The blocks of `redis_layout` that need a live server. */
const REDIS_HISTORIES: readonly string[] = [
  "delayed_score",
  "migrate",
  "reserve",
  "pcall_poison",
  "release",
  "processing_sweep",
  "processing_token",
  "late_ack",
  "identical_copies",
  "retry_after_null",
  "lrem_count",
  "malformed_member",
  "orphan",
  "legacy_release_gate",
  "legacy_dlq_gate",
];

/** Every section of the suite. */
export const PLAN: Plan = {
  // core
  cases: { check: checkCase },
  roundtrip: { check: checkReemit },
  data_shape: { check: checkDataShape },
  forbidden_keys: { check: checkForbiddenKey },
  extension_write: { check: checkExtensionWrite },
  encode_reject: { check: checkEncodeReject },
  trim: { check: checkTrim },
  job_type: { check: checkJobType },
  identity_verdict: { check: checkIdentityVerdict },
  poison_dlq: { check: checkPoisonRecord },
  retry_backoff: { check: checkBackoff },
  idempotency: needs("idempotency/mod.ts"),
  payload_schema: needs("schema/mod.ts"),
  payload_schema_unicode: needs("schema/mod.ts"),
  // otel
  traceparent: needs("otel/mod.ts"),
  // redis
  redis: { blocks: { payload_identity: { check: checkRedisIdentity } } },
  redis_delay: { check: checkRedisDelay },
  redis_layout: {
    blocks: {
      cases: { check: checkRedisKeys },
      ...Object.fromEntries(
        REDIS_HISTORIES.map((block) => [block, { check: checkRedisHistory }]),
      ),
    },
  },
  // amqp
  rabbitmq: { blocks: { property_projection: { check: checkRabbitmqProjection } } },
  // sqs
  sqs: binding("sqs", "attribute_projection", checkSqsAttempts),
  delay: transport("sqs"),
  version_gate_sqs: { check: checkVersionGate("sqs") },
  // asb
  asb: binding("azure-service-bus", "property_projection", checkServiceBusAttempts),
  version_gate_asb: { check: checkVersionGate("asb") },
  // pulsar
  pulsar: binding("pulsar", "property_projection", checkPulsarAttempts),
  pulsar_exhaustion: { check: checkPulsarExhaustion },
  version_gate_pulsar: { check: checkVersionGate("pulsar") },
  // kafka
  kafka: {
    blocks: {
      property_projection: { check: checkKafkaProjection },
      attempts_reconciliation: { check: checkKafkaAttempts },
      schema_version_gate: { check: checkKafkaGate },
    },
  },
  kafka_poison: { check: checkKafkaPoison },
  backoff: {
    blocks: {
      cases: { check: checkKafkaDelay },
      retry_republish: { check: checkKafkaRetry },
      topic_names: { check: checkKafkaTopicName },
      retry_attempt_tier: { check: checkKafkaRetryTier },
      default_tiers: { check: checkKafkaDefaultTiers },
    },
  },
  // artemis
  artemis: {
    blocks: {
      property_projection: { check: checkArtemisProjection },
      attempts_reconciliation: { check: checkArtemisAttempts },
      schema_version_gate: { check: checkArtemisGate },
    },
  },
  version_gate_artemis: { check: checkArtemisVersionGate },
};

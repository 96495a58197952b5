import { ConnectionError, messageOf } from "@bq/core/transport";

/** Answers of the broker after which nothing of a batch was written to the partition that they are about. */
const REFUSED: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_TOPIC_EXCEPTION",
  "INVALID_RECORD",
  "INVALID_TIMESTAMP",
  "UNKNOWN_TOPIC_OR_PARTITION",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "POLICY_VIOLATION",
  "UNSUPPORTED_FOR_MESSAGE_FORMAT",
]);

/** Refusals that one record of a batch may be the cause of; any other is about the topic, and meets all. */
const ABOUT_A_RECORD: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_RECORD",
  "INVALID_TIMESTAMP",
]);

/** Answers to a fetch of what a partition does not hold. */
const OUT_OF_RANGE: ReadonlySet<string> = new Set(["OFFSET_OUT_OF_RANGE"]);

/** Answers after which trying again cannot help. */
const FATAL: ReadonlySet<string> = new Set([
  "SASL_AUTHENTICATION_FAILED",
  "UNSUPPORTED_SASL_MECHANISM",
  "ILLEGAL_SASL_STATE",
  "GROUP_AUTHORIZATION_FAILED",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "INVALID_GROUP_ID",
  "INVALID_SESSION_TIMEOUT",
  "INCONSISTENT_GROUP_PROTOCOL",
  "SECURITY_DISABLED",
]);

/** Answers to a commit of a member that the group has gone on without. */
const MOVED_ON: ReadonlySet<string> = new Set([
  "REBALANCE_IN_PROGRESS",
  "ILLEGAL_GENERATION",
  "UNKNOWN_MEMBER_ID",
  "FENCED_INSTANCE_ID",
  "STALE_MEMBER_EPOCH",
  "FENCED_MEMBER_EPOCH",
]);

/** Answers that soon are others: the broker is still making ready, a topic is quite new, a leader changes. */
const NOT_YET: ReadonlySet<string> = new Set([
  "GROUP_LOAD_IN_PROGRESS",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "NOT_COORDINATOR_FOR_GROUP",
  "COORDINATOR_LOAD_IN_PROGRESS",
  "COORDINATOR_NOT_AVAILABLE",
  "NOT_COORDINATOR",
  "UNKNOWN_TOPIC_OR_PARTITION",
  "LEADER_NOT_AVAILABLE",
  "NOT_LEADER_FOR_PARTITION",
  "NOT_LEADER_OR_FOLLOWER",
  "FENCED_LEADER_EPOCH",
  "UNKNOWN_LEADER_EPOCH",
  "REPLICA_NOT_AVAILABLE",
  "OFFSET_NOT_AVAILABLE",
  "KAFKA_STORAGE_ERROR",
]);

/** Answers about a topic that does not exist. */
const UNKNOWN_TOPIC: ReadonlySet<string> = new Set(["UNKNOWN_TOPIC_OR_PARTITION"]);

/** Errors inside errors: no deeper than this is looked. */
const DEEPEST = 8;

/** The text of whatever was thrown; clients wrap the answer of the broker, so the innermost speaks. */
export function textOf(error: unknown): string {
  let text = messageOf(error);
  for (const { message } of chain(error)) if (message !== "") text = message;
  return text;
}

/** Whether the broker has refused a write, so that nothing was written. */
export function isRefused(error: unknown): boolean {
  return has(error, REFUSED) || isUnknownTopic(error);
}

/** Whether one record may be why a whole batch was refused. */
export function isAboutARecord(error: unknown): boolean {
  return has(error, ABOUT_A_RECORD);
}

/** Whether a place in a partition is not there: deleted meanwhile, or of a log that was made anew. */
export function isOutOfRange(error: unknown): boolean {
  return has(error, OUT_OF_RANGE);
}

/** Whether a commit came after the group had moved on. */
export function isMovedOn(error: unknown): boolean {
  return has(error, MOVED_ON);
}

/** What is not there, but is expected to be soon. */
export class NotYetError extends ConnectionError {}

/** Whether the broker will answer otherwise soon. */
export function isNotYet(error: unknown): boolean {
  return error instanceof NotYetError || has(error, NOT_YET) || isUnknownTopic(error);
}

/** Whether a topic does not exist. */
export function isUnknownTopic(error: unknown): boolean {
  return has(error, UNKNOWN_TOPIC) ||
    // @platformatic/kafka keeps only the sentence.
    chain(error).some(({ code, message }) =>
      code === "PLT_KFK_USER" && message.startsWith("Unknown topic")
    );
}

/**
 * What a transport says about a connection that cannot be used.
 *
 * @param doing What could not be done, for instance `receive from 'orders'`.
 * @param error What the client or the broker said.
 */
export function connectionError(doing: string, error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error;
  const fatal = has(error, FATAL) || named(error, "KafkaJSSASLAuthenticationError") ||
    chain(error).some(({ code }) => code === "PLT_KFK_AUTHENTICATION");
  return new ConnectionError(`Cannot ${doing}: ${textOf(error)}`, { cause: error, fatal });
}

interface ClientError {
  readonly message: string;
  readonly name?: string;
  /** kafkajs: the name of the broker's answer. */
  readonly type?: string;
  /** @platformatic/kafka: the same. */
  readonly apiId?: string;
  readonly code?: string;
}

/** An error, what caused it, and what caused that. */
function chain(error: unknown): ClientError[] {
  const found: ClientError[] = [];
  let next: unknown[] = [error];
  for (let depth = 0; depth < DEEPEST && next.length > 0; depth++) {
    const errors = next.filter((one) => one instanceof Error);
    found.push(...errors as unknown as ClientError[]);
    next = errors.flatMap((one) => [
      (one as Error).cause,
      ...((one as { errors?: unknown[] }).errors ?? []),
    ]);
  }
  return found;
}

function has(error: unknown, answers: ReadonlySet<string>): boolean {
  return chain(error).some(({ type, apiId }) =>
    answers.has(type ?? "") || answers.has(apiId ?? "")
  );
}

function named(error: unknown, name: string): boolean {
  return chain(error).some((one) => one.name === name);
}

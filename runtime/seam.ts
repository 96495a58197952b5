/**
 * What a transport is made of: the seam, the settlement policy, the option checks, and the rules that
 * are the same on every broker. Only who writes a transport, or a tool beside one, needs this.
 *
 * @module
 */

export {
  artemisCounting,
  type Counting,
  kafkaCounting,
  LARGEST_ATTEMPTS,
  reconcile,
} from "../core/attempts.ts";
export { type Clock, systemClock } from "../core/clock.ts";
export {
  BabelQueueError,
  ConnectionError,
  PublishUncertainError,
  SettleWriteError,
} from "../core/errors.ts";
export { describeVersion, versionGate } from "../core/gate.ts";
export {
  HEADER_REPLAY_BYPASS,
  type HeaderCarrier,
  mergeHeaders,
  recordHeaders,
  sanitizeHeaders,
} from "../core/headers.ts";
export { decide, type DecideOptions, type Decision, type Outcome, type Subject } from "./decide.ts";
export { type Projection, projectionOf } from "../core/projection.ts";
export { asError, messageOf } from "../core/thrown.ts";
export { outgoingHeaders } from "./outgoing.ts";
export { Attached } from "./_attached.ts";
export { settledWithin } from "./_waits.ts";
export {
  assertQueueName,
  cannotOpen,
  closedError,
  failedOutcome,
  NO_HEADERS,
  notOpen,
  refuseDelays,
  uncertainOutcome,
  unlessAborted,
  within,
} from "./transport_rules.ts";
export {
  abortSignal,
  callable,
  checkOptions,
  duration,
  flag,
  integer,
  oneOf,
  type OptionCheck,
  refuseOption,
  text,
} from "./option_checks.ts";
export type { OffRoute, RetryDelay, SettlementPolicy } from "./policy.ts";
export type {
  Capabilities,
  DeadLetterReason,
  Delivery,
  Outgoing,
  Peeked,
  PeekOptions,
  PublishDelay,
  PublishOutcome,
  QueueSize,
  SignalOptions,
  SubscribeOptions,
  Subscription,
  Transport,
  TransportContext,
  TransportEvent,
  Verdict,
} from "./transport.ts";

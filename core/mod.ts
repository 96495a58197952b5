/**
 * The codec: pure functions over an envelope's bytes.
 *
 * @module
 */

export { LARGEST_ATTEMPTS, reconcile } from "./attempts.ts";
export { type Clock, systemClock } from "./clock.ts";
export { EnvelopeCodec, SCHEMA_VERSION, SOURCE_LANG } from "./codec.ts";
export { annotate, deadLetterBlock } from "./dead_letter.ts";
export type {
  DeadLetter,
  Envelope,
  EnvelopeMeta,
  EnvelopeWarning,
  IncomingEnvelope,
  JsonObject,
  JsonValue,
} from "./envelope.ts";
export * from "./errors.ts";
export { describeVersion, gatedRoute, versionGate } from "./gate.ts";
export {
  bypassExternalEffects,
  HEADER_REPLAY_BYPASS,
  HEADER_TRACEPARENT,
  HEADER_TRACESTATE,
  isReplay,
  mergeHeaders,
  sanitizeHeaders,
} from "./headers.ts";
export { identityVerdict } from "./identity.ts";
export { poisonBlock, poisonRecord } from "./poison.ts";
export { type BodyVerdict, type EnvelopeReading, readEnvelope } from "./reading.ts";
export { reemit, resetForRedrive } from "./splice.ts";

/**
 * The codec: pure functions over an envelope's bytes.
 *
 * @module
 */

export type { Counting } from "./attempts.ts";
export { type Clock, systemClock } from "./clock.ts";
export {
  type Codec,
  type DecodeOptions,
  EnvelopeCodec,
  type MakeOptions,
  type RejectReason,
  SCHEMA_VERSION,
  SOURCE_LANG,
} from "./codec.ts";
export {
  annotate,
  type AnnotateOptions,
  deadLetterBlock,
  type DeadLetterOptions,
} from "./dead_letter.ts";
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
export {
  bypassExternalEffects,
  type BypassOptions,
  HEADER_REPLAY_BYPASS,
  HEADER_TRACEPARENT,
  HEADER_TRACESTATE,
  type HeaderCarrier,
  isReplay,
} from "./headers.ts";
export { type IdentityVerdict, identityVerdict } from "./identity.ts";
export { poisonBlock, type PoisonOptions, poisonRecord } from "./poison.ts";
export type { HasTraceId, PolyglotMessage } from "./polyglot_message.ts";
export { type BodyVerdict, EnvelopeReading, readEnvelope, type ReadOptions } from "./reading.ts";
export { type Edit, reemit, reemitText, resetForRedrive } from "./splice.ts";

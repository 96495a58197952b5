/** A message that may name the causal chain it belongs to. Contract: C95. */
export interface HasTraceId {
  /** Id of the causal chain to continue; null, undefined or blank begins a new one. */
  getBabelTraceId?(): string | null | undefined;
}

/** A message that knows its own URN and its payload; any object of this shape is one. Contract: C95. */
export interface PolyglotMessage extends HasTraceId {
  /** The URN of the message. */
  getBabelUrn(): string;
  /** The payload: a JSON object. */
  toPayload(): object;
}

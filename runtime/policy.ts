/**
 * How brokers differ when a message is settled, as data. `decide` reads it; nothing else may branch
 * on a broker's name.
 *
 * @module
 */

/** What happens to a message that may not be written to a dead-letter queue. */
export type OffRoute =
  /** Write the record all the same, to the default name (Redis). */
  | "deadLetter"
  /** Leave it to the broker, without a call (SQS). */
  | "leave"
  /** The broker's own dead-letter place (Service Bus). */
  | "native"
  /** Acknowledge and report. */
  | "drop"
  /** Deliver again until the cap, then acknowledge and report. */
  | "retry";

/** How a retry with a delay is made. */
export type RetryDelay =
  /** The broker delays; a longer delay than `maxMs` is cut. */
  | { readonly kind: "native"; readonly maxMs?: number }
  /** The broker cannot delay: the worker holds the message first. */
  | { readonly kind: "held" }
  /** The broker's tiers decide; the computed delay is not used. */
  | { readonly kind: "tiers" };

/** The settlement rules of one transport instance, frozen. Contract: the decision table of each broker. */
export interface SettlementPolicy {
  /** Name of the broker and, where that changes the rules, of its mode; for messages only. */
  readonly broker: string;
  /**
   * Name of the dead-letter queue of `queue`: a logical name, to which the transport adds its own
   * prefix. Contract: G34.
   *
   * @param queue The queue that the message was received from.
   * @param suffix Replaces the broker's own suffix.
   * @returns The logical name.
   */
  deadLetterQueue(queue: string, suffix?: string): string;
  /** What `original_queue` of a `failed` or `unknown_urn` record names: `meta.queue` when it is not blank, or always the queue received from. Contract: G35, C109. */
  readonly originalQueue: "meta" | "received";
  /** Whether a message can be retried at all (Kafka without tiers cannot). Contract: K25. */
  readonly retry: "possible" | "impossible";
  /** How a retry or a release is delayed. Contract: G47. */
  readonly retryDelay: RetryDelay;
  /** Whether releasing an unknown URN is unbounded or takes the counted failure route. Contract: C146, P18, K23. */
  readonly release: "unbounded" | "counted";
  /** What becomes of poison. Contract: C152–C154, G31, G33. */
  readonly poison: {
    /** Whether `onUnknownUrn: "delete"` drops it. */
    readonly deletable: boolean;
    /** With dead-lettering off. */
    readonly off: OffRoute;
    /** When the strategy asks for a record but the queue is opted out. */
    readonly optedOut: OffRoute;
  };
  /** A version-gated message with dead-lettering off; absent where there is no gate. Contract: C81. */
  readonly gatedOff?: "leave" | "native" | "drop";
  /** A message at its cap with dead-lettering off. Contract: G41, A14. */
  readonly exhaustedOff: "drop" | "native";
  /** What follows when a write that had to come first failed; `holdMs` keeps a lasting fault from spinning. Contract: G36, Q12, K14, X15. */
  readonly writeFailed: { readonly kind: "return" | "leave"; readonly holdMs: number };
  /** What happens to a message that shutdown catches unfinished. Contract: G49. */
  readonly shutdown: "return" | "leave";
  /** Whether a body without `attempts` is poison. Contract: C48c. */
  readonly missingAttempts: "dispatch" | "poison";
  /** Whether a number that is no finite double, or an escape of half a surrogate pair, is poison anywhere in the body, and not the number in `data` alone. Contract: R33, R35. */
  readonly poisonBeyondData?: boolean;
}

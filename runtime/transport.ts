/**
 * The seam between the runtime and a broker: what a transport implements, and nothing else. A
 * transport projects, receives, settles and extends; it never decides.
 *
 * @module
 */

import type { Counting } from "../core/attempts.ts";
import type { Clock } from "../core/clock.ts";
import type { SettlementPolicy } from "./policy.ts";

export type { Counting };

/** Carries an `AbortSignal` that ends a wait. */
export interface SignalOptions {
  /** Ends the wait when aborted. */
  readonly signal?: AbortSignal;
}

/** How a transport can delay a publish. */
export type PublishDelay =
  | { readonly kind: "none" }
  | { readonly kind: "native"; readonly maxMs?: number }
  | { readonly kind: "tiers"; readonly tiersMs: readonly number[] };

/** What a transport can do; read by the App, the command line, the documentation and the transport suite. */
export interface Capabilities {
  /** Whether foreign headers travel with the message. */
  readonly headers: boolean;
  /** How a publish can be delayed. */
  readonly publishDelay: PublishDelay;
  /** Within what the order of publishing is kept. */
  readonly order: "queue" | "key" | "none";
  /** Whether a message's `key` has a meaning. */
  readonly keys: boolean;
  /** Whether the broker counts deliveries itself. */
  readonly nativeCount: boolean;
  /** Whether the broker carries a schema version beside the body, so that the gate applies. */
  readonly versionGate: boolean;
  /** Whether a delivery is held under a lease that ends by itself. */
  readonly leases: boolean;
  /** Whether waiting messages can be looked at without removing them. */
  readonly peek: boolean;
  /** Whether a queue can be counted. */
  readonly size: boolean;
}

/** What the runtime hands a transport. Nothing else tells time, draws chance or reports. */
export interface TransportContext {
  /** Time. */
  readonly clock: Clock;
  /** A number of at least 0 and below 1; for jitter, never for a token. */
  random(): number;
  /** Random bytes fit for a token. */
  bytes(length: number): Uint8Array;
  /** Reports what happened to the connection. */
  emit(event: TransportEvent): void;
}

/** What a transport reports beside its answers. */
export type TransportEvent =
  | { readonly type: "connected" }
  | { readonly type: "disconnected"; readonly error?: Error }
  | { readonly type: "warning"; readonly code: string; readonly message: string };

/** A message on its way to the broker. */
export interface Outgoing {
  /** The encoded envelope, or any bytes on a raw write. */
  readonly body: Uint8Array;
  /** Foreign headers, already sanitised. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Kafka record key, FIFO group, session, Pulsar key. Null and empty are different. */
  readonly key?: string | Uint8Array | null;
  /** Wait before the first delivery, in milliseconds. */
  readonly delayMs?: number;
  /** The delivery that this message continues: its key and foreign headers travel on, the projection is made new. */
  readonly from?: Delivery;
  /** Native metadata exactly as it came in `from`. */
  readonly verbatim?: true;
  /** The publisher encoded the body itself, so the members at its two ends are what it says. */
  readonly canonical?: true;
}

/** What became of one outgoing message. `uncertain`: sent, not confirmed. */
export type PublishOutcome =
  | { readonly status: "confirmed" }
  | { readonly status: "failed" | "uncertain"; readonly error: Error };

/** A message as it was received, until it is settled. The same object goes back to `settle`. */
export interface Delivery {
  /** Logical queue it was received from. */
  readonly queue: string;
  /** The body, byte for byte. */
  readonly body: Uint8Array;
  /** Foreign headers only, never a contract slot; without a prototype. */
  readonly headers: Readonly<Record<string, string>>;
  /** The native schema version, as it came; absent where the broker has no such slot. */
  readonly schemaVersion?: unknown;
  /** The native route; only set by a transport that routes on it. */
  readonly route?: string;
  /** How the broker counted. */
  readonly counting: Counting;
  /** When the lease ends, in Unix milliseconds; absent when nothing takes the message back by itself. */
  readonly leaseUntilMs?: number;
  /** The transport found that the body cannot be read. */
  readonly undecodable?: boolean;
}

/** Why a record is on a dead-letter queue. `gated` writes the raw body without a `dead_letter` member. */
export type DeadLetterReason = "failed" | "unknown_urn" | "poison" | "gated";

/** What a transport is told to do with a delivery. */
export type Verdict =
  /** Done with: handled, or dropped on purpose. */
  | { readonly kind: "ack" }
  /** Deliver again, counted, in the broker's own way. */
  | {
    readonly kind: "retry";
    readonly body: Uint8Array;
    readonly attempts: number;
    readonly delayMs: number;
  }
  /** Give it to another consumer: bytes as they are, in the broker's own way. */
  | { readonly kind: "release"; readonly delayMs: number }
  /** Give it back unchanged, uncounted where possible. */
  | { readonly kind: "return" }
  /** No call at all. */
  | { readonly kind: "leave" }
  /** Write the record, wait for its confirmation, then acknowledge. */
  | {
    readonly kind: "deadLetter";
    readonly record: Uint8Array;
    readonly queue: string;
    readonly reason: DeadLetterReason;
  }
  /** Move it to the broker's own dead-letter place. */
  | { readonly kind: "deadLetterNatively"; readonly reason: string; readonly description?: string };

/** What `subscribe` is told. */
export interface SubscribeOptions {
  /** The window that a broker which pushes may keep. */
  readonly prefetch: number;
  /** Aborted once when work ends: receives resolve, what was not handed out goes back; settle and extend live until close. */
  readonly intake: AbortSignal;
  /** Tells the worker that a delivery is lost: channel dead, partition revoked, lock gone. */
  lost(delivery: Delivery, cause: Error): void;
  /** End at what was there at the time of subscribing. */
  readonly snapshot?: boolean;
}

/** A stream of deliveries from one queue. It survives reconnects. */
export interface Subscription {
  /** How many `receive` calls may be outstanding at once. */
  readonly lanes: number;
  /**
   * Takes up to `max` messages, waiting up to `waitMs` milliseconds for the first; 0 = only what is
   * there. Resolves with `[]` on time-out and, when intake ends, with what it has already taken.
   * Rejects while the connection is in trouble.
   */
  receive(max: number, waitMs: number): Promise<readonly Delivery[]>;
  /**
   * Settles a delivery. `"expired"`: it was lost or settled already, and nothing was touched.
   *
   * @throws {SettleWriteError} when a write that must come first failed; the delivery is unsettled.
   */
  settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired">;
  /** Moves the lease forward; the new end in Unix milliseconds, or null when it is lost. */
  extend?(delivery: Delivery): Promise<number | null>;
  /** Ends the subscription. */
  close(options?: SignalOptions): Promise<void>;
}

/** A message seen without being removed. */
export interface Peeked {
  /** The body, byte for byte. */
  readonly body: Uint8Array;
  /** Foreign headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where it stands. */
  readonly state: "ready" | "delayed" | "inFlight";
}

/** What to look at. */
export interface PeekOptions {
  /**
   * Most messages to look at.
   *
   * @default {100}
   */
  readonly max?: number;
}

/** How many messages a queue holds. */
export interface QueueSize {
  /** Waiting to be received. */
  readonly ready: number;
  /** Waiting for their time. */
  readonly delayed: number;
  /** Received and unsettled. */
  readonly inFlight: number;
}

/** A broker, or memory. */
export interface Transport extends AsyncDisposable {
  /** Name for messages and metrics, for instance `memory`. */
  readonly name: string;
  /** What it can do. */
  readonly capabilities: Capabilities;
  /** How it settles. */
  readonly policy: SettlementPolicy;
  /**
   * Connects and proves the connection. A second call after success throws; after a failure it may be
   * called again.
   *
   * @throws {ConnectionError} with `fatal: true` when trying again cannot help.
   */
  open(context: TransportContext, options?: SignalOptions): Promise<void>;
  /** Publishes in order; one outcome a message, in the same order. It rejects only when nothing was sent. */
  publish(
    queue: string,
    messages: readonly Outgoing[],
    options?: SignalOptions,
  ): Promise<readonly PublishOutcome[]>;
  /** Resolves when deliveries can flow. */
  subscribe(queue: string, options: SubscribeOptions): Promise<Subscription>;
  /** Looks at waiting messages without removing any. */
  peek?(queue: string, options?: PeekOptions): AsyncIterable<Peeked>;
  /** Counts a queue. */
  size?(queue: string): Promise<QueueSize>;
  /** Disconnects. Once `signal` is aborted every pending settle rejects. */
  close(options?: SignalOptions): Promise<void>;
}

import type {
  Capabilities,
  Delivery,
  Outgoing,
  SettlementPolicy,
  Verdict,
} from "@bq/core/transport";
import type { RedisArgument } from "./client.ts";
import type { ScriptCall } from "./_script.ts";

/**
 * A message that was reserved, and the member that stands for its reservation. The member is never made
 * anew from what the message says, always from what the script gave. Contract: R18.
 */
export interface Reserved {
  /** What the worker gets. */
  readonly delivery: Delivery;
  /** When the reservation ends, in Unix milliseconds; Infinity when it does not. */
  readonly endsAtMs: number;
  /** Length of the member. */
  readonly memberLength: number;
  /** The member, as a command names it. */
  member(): Uint8Array;
}

/** One settle as the script takes it. */
export interface SettlePart {
  /** Whose reservation. */
  readonly reserved: Reserved;
  /** What is done: acknowledged, released unchanged, released with a value. */
  readonly kind: "a" | "u" | "r";
  /** What the script wants of that kind beside the member. */
  readonly rest: readonly RedisArgument[];
}

/** A command that is no script, and its key. */
export interface PlainCommand {
  readonly command: readonly RedisArgument[];
  readonly key: string;
}

/** A part of a publish that is sent as one command. */
export interface PublishCall {
  /** Which messages, by index. */
  readonly indexes: readonly number[];
  /** A script, or a plain command. */
  readonly send: ScriptCall | PlainCommand;
}

/** One call that settles and reserves. */
export interface WorkCall extends ScriptCall {
  /** What was reserved, by the reply to this call. */
  reserved(bodies: readonly Uint8Array[], kinds: string): Reserved[];
}

/** A layout: how one queue lies in Redis. */
export interface QueueLayout {
  /** Every key of the queue. */
  readonly keys: readonly string[];
  /** The list that a consumer can block on; absent when it has to poll. */
  readonly wakeKey?: string;
  /** How messages are put into the queue. */
  publish(messages: readonly Outgoing[], nowMs: number): PublishCall[];
  /**
   * Settles what is given and reserves up to `max` jobs; -1 reserves none, 0 only brings back what is due.
   * A call that may have to wait for up to `withinMs` milliseconds before it is run reserves so much longer.
   */
  work(
    max: number,
    settles: readonly SettlePart[],
    nowMs: number,
    withinMs?: number,
  ): WorkCall;
  /** A settle for `work`. */
  settle(
    reserved: Reserved,
    verdict: Extract<Verdict, { kind: "ack" | "retry" | "release" | "return" }>,
    nowMs: number,
  ): SettlePart;
  /**
   * Acknowledges with a plain command, where there is one: a script would copy a large member once
   * more, and the server's Lua makes that the dearest part of it. Contract: R40.
   */
  acknowledge?(reserved: Reserved): PlainCommand;
  /** Writes a record and ends the reservation. */
  deadLetter(
    reserved: Reserved,
    verdict: Extract<Verdict, { kind: "deadLetter" }>,
  ): ScriptCall;
  /** Moves the end of a reservation. */
  extend(reserved: Reserved, nowMs: number): ScriptCall;
  /** The keys whose members wait, are delayed and are in flight. */
  readonly places: {
    readonly ready: string;
    readonly delayed: string | null;
    readonly inFlight: string;
  };
  /** Reads a page of members of a place. */
  page(place: string, start: number, stop: number): readonly RedisArgument[];
  /** Puts back what has no deadline. Contract: R79. */
  requeue(): ScriptCall;
}

/** One of the two layouts, as configured. */
export interface Layout {
  /** What it can do. */
  readonly capabilities: Capabilities;
  /** How it settles. */
  readonly policy: SettlementPolicy;
  /** One queue of it. */
  queue(name: string): QueueLayout;
  /** Takes a stored element apart. */
  shown(stored: Uint8Array): {
    readonly body: Uint8Array;
    readonly headers: Readonly<Record<string, string>>;
  };
}

/** What the layouts have in common. */
export interface LayoutOptions {
  /** How long a reservation lasts, in whole seconds; null when it does not end. */
  readonly retryAfter: number | null;
  /** Most members of one migration or sweep; -1 for all. */
  readonly migrationBatchSize: number;
}

/** Bytes of bodies that one call reserves, about, but at least its first job. */
export const LARGEST_BATCH_BYTES = 262_144;
/** Messages of one publish call; a script cannot unpack many more. */
const LARGEST_PUBLISH = 1_000;
/** Bytes of one publish call beyond its first message. */
const LARGEST_PUBLISH_BYTES = 1_048_576;

/** Cuts a row of messages into calls that are not too large. */
export function chunked(
  indexes: readonly number[],
  sizeOf: (index: number) => number,
): number[][] {
  const chunks: number[][] = [];
  let bytes = Infinity;
  for (const index of indexes) {
    const size = sizeOf(index);
    const last = chunks.at(-1);
    if (last && last.length < LARGEST_PUBLISH && bytes + size <= LARGEST_PUBLISH_BYTES) {
      last.push(index);
      bytes += size;
    } else {
      chunks.push([index]);
      bytes = size;
    }
  }
  return chunks;
}

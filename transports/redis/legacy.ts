import { Buffer } from "node:buffer";
import {
  type Capabilities,
  type Counting,
  type Delivery,
  type Outgoing,
  outgoingHeaders,
  recordHeaders,
} from "@bq/core/transport";
import { frame, unframe } from "./frame.ts";
import { legacyKeys } from "./keys.ts";
import { redisPolicy } from "./policy.ts";
import {
  chunked,
  LARGEST_BATCH_BYTES,
  type Layout,
  type LayoutOptions,
  type PublishCall,
  type QueueLayout,
  type Reserved,
  type WorkCall,
} from "./_layout.ts";
import { EXTEND } from "./_lua.ts";
import { LEGACY_DEAD_LETTER, LEGACY_REQUEUE, LEGACY_WORK } from "./_lua_legacy.ts";
import { settling } from "./_reply.ts";
import { scoreText, secondsOf } from "./scores.ts";
import { TokenPurse } from "./_tokens.ts";

/** How the legacy layout is set up. */
export interface LegacyOptions extends LayoutOptions {
  /** What the name of the processing list ends with. */
  readonly processingSuffix: string;
  /** Random bytes fit for a token. */
  bytes(length: number): Uint8Array;
}

/** The count of this layout is the one in the body. Contract: R77. */
const NOT_COUNTED: Counting = Object.freeze({});

/** The layout of two lists, with a deadline a message. Contract: R60–R85. */
export function legacyLayout(options: LegacyOptions): Layout {
  const capabilities: Capabilities = Object.freeze({
    headers: true,
    publishDelay: Object.freeze({ kind: "none" }),
    order: "queue",
    keys: false,
    nativeCount: false,
    versionGate: false,
    leases: options.retryAfter !== null,
    peek: true,
    size: true,
  });
  const purse = new TokenPurse(options.bytes);
  return {
    capabilities,
    policy: redisPolicy({ layout: "legacy" }),
    queue: (name) => legacyQueue(name, options, purse),
    shown: unframe,
  };
}

function legacyQueue(name: string, options: LegacyOptions, purse: TokenPurse): QueueLayout {
  const { retryAfter } = options;
  const { ready, processing, deadlines } = legacyKeys(name, options.processingSuffix);
  const keys = [ready, processing, deadlines];
  const batch = String(options.migrationBatchSize);
  const cap = String(LARGEST_BATCH_BYTES);

  return {
    keys,
    places: { ready, delayed: null, inFlight: processing },
    page: (place, start, stop) => ["LRANGE", place, `${start}`, `${stop}`],

    publish: (messages) => appends(messages, ready),

    work(max, settles, nowMs, withinMs = 0): WorkCall {
      const now = secondsOf(nowMs);
      const deadline = secondsOf(nowMs + withinMs) + (retryAfter ?? Infinity);
      const tokens = purse.take(Math.max(0, max));
      const head = [String(max), String(now), scoreText(deadline), batch, cap, tokens.join("")];
      return {
        script: LEGACY_WORK,
        keys,
        args: [...head, ...settling(settles)],
        reserved(stored) {
          purse.giveBack(tokens.slice(stored.length));
          return stored.map((raw, index) =>
            new TokenReservation(name, raw, tokens[index]!, deadline * 1_000)
          );
        },
      };
    },

    settle(reserved, verdict) {
      if (verdict.kind === "ack") return { reserved, kind: "a", rest: [] };
      // Unchanged is the stored element, its frame included. Contract: R43, R83.
      if (verdict.kind !== "retry") return { reserved, kind: "u", rest: [] };
      return { reserved, kind: "r", rest: [frame(verdict.body, reserved.delivery.headers)] };
    },

    deadLetter(reserved, { record, queue }) {
      const element = frame(record, recordHeaders(reserved.delivery.headers));
      return {
        script: LEGACY_DEAD_LETTER,
        keys: [processing, deadlines, queue],
        args: [reserved.member(), element],
      };
    },

    extend(reserved, nowMs) {
      const deadline = secondsOf(nowMs) + (retryAfter ?? Infinity);
      const args = [reserved.member(), scoreText(deadline)];
      return { script: EXTEND, keys: [deadlines], args };
    },

    requeue: () => ({ script: LEGACY_REQUEUE, keys, args: [] }),
  };
}

function appends(messages: readonly Outgoing[], ready: string): PublishCall[] {
  const elements = messages.map((message) => frame(message.body, outgoingHeaders(message)));
  return chunked([...elements.keys()], (index) => elements[index]!.length).map((indexes) => ({
    indexes,
    send: { key: ready, command: ["RPUSH", ready, ...indexes.map((index) => elements[index]!)] },
  }));
}

/** A reservation whose member is a token and the stored element, frame included. Contract: R67, R82. */
class TokenReservation implements Reserved {
  readonly delivery: Delivery;
  readonly endsAtMs: number;
  readonly #token: string;
  readonly #stored: Uint8Array;

  constructor(queue: string, stored: Uint8Array, token: string, endsAtMs: number) {
    const { body, headers } = unframe(stored);
    const lease = endsAtMs < Infinity ? { leaseUntilMs: endsAtMs } : {};
    this.delivery = { queue, body, headers, counting: NOT_COUNTED, ...lease };
    this.endsAtMs = endsAtMs;
    this.#token = token;
    this.#stored = stored;
  }

  get memberLength(): number {
    return this.#token.length + 1 + this.#stored.length;
  }

  member(): Uint8Array {
    const token = this.#token;
    const member = Buffer.allocUnsafe(this.memberLength);
    for (let i = 0; i < token.length; i++) member[i] = token.charCodeAt(i);
    member[token.length] = 0x3a;
    member.set(this.#stored, token.length + 1);
    return member;
  }
}

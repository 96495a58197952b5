import {
  type Capabilities,
  type Counting,
  type Delivery,
  NO_HEADERS,
  type Outgoing,
} from "@bq/core/transport";
import { redisPolicy } from "./policy.ts";
import { zsetKeys } from "./keys.ts";
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
import { lowered, SplicedReservation } from "./_lossless.ts";
import { EXTEND } from "./_lua.ts";
import { ZSET_DEAD_LETTER, ZSET_PUSH, ZSET_REQUEUE, ZSET_WORK } from "./_lua_zset.ts";
import { settling } from "./_reply.ts";
import { delayedScore, scoreText, secondsOf } from "./scores.ts";

/** The count of this layout is the one in the body. Contract: R17. */
const NOT_COUNTED: Counting = Object.freeze({});

/** How the zset layout is set up. */
export interface ZsetOptions extends LayoutOptions {
  /** What stands before every key. */
  readonly prefix: string;
  /** How the reserved member is made. */
  readonly reserve: "splice" | "cjson";
}

/** The layout of Laravel: sorted sets for what is delayed and reserved. Contract: R1–R49. */
export function zsetLayout(options: ZsetOptions): Layout {
  const capabilities: Capabilities = Object.freeze({
    headers: false,
    publishDelay: Object.freeze({ kind: "native" }),
    order: "queue",
    keys: false,
    nativeCount: false,
    versionGate: false,
    leases: options.retryAfter !== null,
    peek: true,
    size: true,
  });
  return {
    capabilities,
    policy: redisPolicy({ layout: "zset" }),
    queue: (name) => zsetQueue(name, options),
    shown: (stored) => ({ body: new Uint8Array(stored), headers: NO_HEADERS }),
  };
}

function zsetQueue(name: string, options: ZsetOptions): QueueLayout {
  const { prefix, retryAfter } = options;
  const { ready, delayed, reserved, notify } = zsetKeys(name, prefix);
  // The last one is there only while the script runs.
  const keys = [ready, reserved, notify, delayed, `${reserved}:scratch`];
  const batch = String(options.migrationBatchSize);
  const recover = retryAfter === null ? "0" : "1";
  const cap = String(LARGEST_BATCH_BYTES);

  return {
    keys,
    wakeKey: notify,
    places: { ready, delayed, inFlight: reserved },
    page: (place, start, stop) => [
      place === ready ? "LRANGE" : "ZRANGE",
      place,
      `${start}`,
      `${stop}`,
    ],

    publish: (messages, nowMs) => [
      ...pushes(messages, ready, notify),
      ...additions(messages, delayed, nowMs),
    ],

    work(max, settles, nowMs, withinMs = 0): WorkCall {
      const now = secondsOf(nowMs);
      const deadline = secondsOf(nowMs + withinMs) + (retryAfter ?? Infinity);
      const head = [String(max), String(now), scoreText(deadline), batch, recover, cap];
      return {
        script: ZSET_WORK,
        keys,
        args: [...head, options.reserve, ...settling(settles)],
        reserved: (bodies, kinds) => reservedOf(name, bodies, kinds, deadline * 1_000),
      };
    },

    // The bytes of a release are the raw job's: the member would carry what cjson made of it. Contract: R42, R43.
    settle(reservation, verdict, nowMs) {
      const { delivery } = reservation;
      if (verdict.kind === "ack") return { reserved: reservation, kind: "a", rest: [] };
      const score = delayedScore(nowMs, verdict.kind === "return" ? 0 : verdict.delayMs);
      const payload = verdict.kind === "retry" ? verdict.body : delivery.body;
      return { reserved: reservation, kind: "r", rest: [String(score), payload] };
    },

    acknowledge: (reservation) => ({
      command: ["ZREM", reserved, reservation.member()],
      key: reserved,
    }),

    deadLetter(reservation, { record, queue }) {
      const dead = zsetKeys(queue, prefix);
      return {
        script: ZSET_DEAD_LETTER,
        keys: [reserved, dead.ready, dead.notify],
        args: [reservation.member(), record],
      };
    },

    extend(reservation, nowMs) {
      const deadline = secondsOf(nowMs) + (retryAfter ?? Infinity);
      const args = [reservation.member(), scoreText(deadline)];
      return { script: EXTEND, keys: [reserved], args };
    },

    requeue: () => ({ script: ZSET_REQUEUE, keys: [ready, reserved, notify], args: [] }),
  };
}

function pushes(messages: readonly Outgoing[], ready: string, notify: string): PublishCall[] {
  const now = [...messages.keys()].filter((index) => !isDelayed(messages[index]!));
  return chunked(now, (index) => messages[index]!.body.length).map((indexes) => ({
    indexes,
    send: {
      script: ZSET_PUSH,
      keys: [ready, notify],
      args: indexes.map((index) => messages[index]!.body),
    },
  }));
}

function additions(
  messages: readonly Outgoing[],
  delayed: string,
  nowMs: number,
): PublishCall[] {
  const later = [...messages.keys()].filter((index) => isDelayed(messages[index]!));
  return chunked(later, (index) => messages[index]!.body.length).map((indexes) => ({
    indexes,
    send: {
      key: delayed,
      command: [
        "ZADD",
        delayed,
        ...indexes.flatMap((index) => {
          const { body, delayMs = 0 } = messages[index]!;
          return [String(delayedScore(nowMs, delayMs)), body];
        }),
      ],
    },
  }));
}

function isDelayed({ delayMs = 0 }: Outgoing): boolean {
  return delayMs > 0;
}

/** A reservation whose member is kept as the script gave it. */
class PlainReservation implements Reserved {
  readonly delivery: Delivery;
  readonly endsAtMs: number;
  readonly #member: Uint8Array;

  constructor(delivery: Delivery, endsAtMs: number, member: Uint8Array) {
    this.delivery = delivery;
    this.endsAtMs = endsAtMs;
    this.#member = member;
  }

  get memberLength(): number {
    return this.#member.length;
  }

  member(): Uint8Array {
    return this.#member;
  }
}

function reservedOf(
  queue: string,
  bodies: readonly Uint8Array[],
  kinds: string,
  endsAtMs: number,
): Reserved[] {
  const lease = endsAtMs < Infinity ? { leaseUntilMs: endsAtMs } : {};
  const about = { queue, headers: NO_HEADERS, counting: NOT_COUNTED, ...lease };
  const jobs: Reserved[] = [];
  let next = 0;
  for (const kind of kinds) {
    const first = bodies[next++]!;
    if (kind === "s") {
      jobs.push(new SplicedReservation({ ...about, body: lowered(first) }, endsAtMs));
      continue;
    }
    const member = kind === "c" ? bodies[next++]! : first;
    const body = new Uint8Array(first);
    const delivery = kind === "p" ? { ...about, body, undecodable: true } : { ...about, body };
    jobs.push(new PlainReservation(delivery, endsAtMs, member));
  }
  return jobs;
}

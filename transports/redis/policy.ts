/**
 * How Redis settles, in both layouts.
 *
 * @module
 */

import type { SettlementPolicy } from "@bq/core/transport";

/** What the rules of Redis depend on. */
export interface RedisPolicyOptions {
  /** `legacy`: lists. `zset`: sorted sets, the layout of Laravel. */
  readonly layout: "legacy" | "zset";
}

/**
 * The rules of Redis: poison always becomes a record, whatever the switches say. The names are
 * logical; the zset layout adds its prefix in the transport.
 * Contract: the tables of bindings sections 2.6 and 3.1, R50, R76, R78.
 *
 * @param options `layout`: `zset` delays natively and needs `attempts` in the body; in `legacy` the
 * worker holds a message that is to be delayed.
 * @returns The frozen policy.
 */
export function redisPolicy(options: RedisPolicyOptions): SettlementPolicy {
  const zset = options.layout === "zset";
  return Object.freeze({
    broker: `redis-${options.layout}`,
    deadLetterQueue: (queue: string, suffix: string = ".dlq"): string => queue + suffix,
    originalQueue: "meta",
    retry: "possible",
    retryDelay: Object.freeze({ kind: zset ? "native" : "held" }),
    release: "unbounded",
    poison: Object.freeze({ deletable: false, off: "deadLetter", optedOut: "deadLetter" }),
    exhaustedOff: "drop",
    writeFailed: Object.freeze({ kind: "leave", holdMs: 0 }),
    shutdown: "return",
    missingAttempts: zset ? "poison" : "dispatch",
    poisonBeyondData: zset,
  });
}

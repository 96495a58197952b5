/**
 * The options of a {@linkcode BabelQueue}, their defaults and their limits.
 *
 * @module
 */

import { type Clock, systemClock, systemRandom } from "../core/clock.ts";
import { attempt } from "../core/thrown.ts";
import type { BabelQueueEvent } from "./events.ts";
import {
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

/** What happens to a message whose URN has no handler. Contract: C144–C147. */
export type UnknownUrnStrategy = "fail" | "delete" | "release" | "dead_letter";

/** How long to wait before a message is tried again. Contract: G46. */
export interface RetryOptions {
  /**
   * Wait after the first failure, in milliseconds.
   *
   * @default {0}
   */
  readonly baseMs?: number;
  /**
   * Factor from one wait to the next, 1 or more.
   *
   * @default {1}
   */
  readonly multiplier?: number;
  /**
   * Longest wait, in milliseconds; 0 = no limit.
   *
   * @default {0}
   */
  readonly maxMs?: number;
  /**
   * `full` draws the wait evenly between 0 and the computed one.
   *
   * @default {"none"}
   */
  readonly jitter?: "none" | "full";
  /**
   * Longest time that the worker itself holds a message, where the broker cannot delay, in
   * milliseconds.
   *
   * @default {30000}
   */
  readonly maxHoldMs?: number;
}

/** Options of a {@linkcode BabelQueue}. Contract: C126. */
export interface BabelQueueOptions {
  /**
   * Queue that `publish` writes to and `run` works on when none is named.
   *
   * @default {"default"}
   */
  readonly queue?: string;
  /**
   * What happens to a message whose URN has no handler. Only an explicit value is read for poison
   * and version-gated messages. `dead_letter` switches on dead-lettering for every failure.
   *
   * @default {"fail"}
   */
  readonly onUnknownUrn?: UnknownUrnStrategy;
  /**
   * Deliveries a message gets in all, the first included; 1 or more.
   *
   * @default {3}
   */
  readonly maxAttempts?: number;
  /**
   * Whether messages that failed for good are written to a dead-letter queue. Off, they are dropped
   * and reported, unless `deadLetterQueue` is a name or `onUnknownUrn` is `dead_letter`. Contract: G30.
   *
   * @default {false}
   */
  readonly deadLetter?: boolean;
  /**
   * Name of the dead-letter queue of every queue; implies `deadLetter`. `null` opts out, whatever
   * else is set. By default the name is made from the queue's.
   *
   * @default {undefined}
   */
  readonly deadLetterQueue?: string | null;
  /**
   * What is appended to a queue's name to make its dead-letter queue's. By default the broker's own:
   * `.dlq`, on SQS `-dlq`.
   *
   * @default {undefined}
   */
  readonly deadLetterSuffix?: string;
  /**
   * Waits between attempts.
   *
   * @default {{ baseMs: 0, multiplier: 1, maxMs: 0, jitter: "none", maxHoldMs: 30000 }}
   */
  readonly retry?: RetryOptions;
  /**
   * Wait before a message released by `onUnknownUrn: "release"` is delivered again, in milliseconds.
   *
   * @default {0}
   */
  readonly unknownUrnReleaseDelayMs?: number;
  /**
   * Time that `stop()` and `close()` may take, in milliseconds. Handlers may run until a tenth of it,
   * at most a second, is left; then their messages go back unchanged. With less than a second, giving
   * back may still take that second.
   *
   * @default {30000}
   */
  readonly shutdownTimeoutMs?: number;
  /**
   * Handlers at a time, for each queue.
   *
   * @default {1}
   */
  readonly concurrency?: number;
  /**
   * Messages that a broker which pushes may keep ready in the worker. By default as many as there are
   * handlers.
   *
   * @default {undefined}
   */
  readonly prefetch?: number;
  /**
   * Whether a readable message that lacks a required member (`trace_id`, `data`, `meta`, `attempts`,
   * `schema_version`) is poison instead of being handled with a warning. Contract: C48b.
   *
   * @default {false}
   */
  readonly strict?: boolean;
  /**
   * Time that a handler may take, in milliseconds; then its message takes the failure route.
   *
   * @default {1800000}
   */
  readonly handlerTimeoutMs?: number;
  /**
   * Longest wait of one receive, in milliseconds.
   *
   * @default {1000}
   */
  readonly pollTimeoutMs?: number;
  /**
   * Called with every event. Without it, and without a reader of `events()`, warnings and drops go to
   * `console.warn`.
   *
   * @default {undefined}
   */
  readonly onEvent?: (event: BabelQueueEvent) => void;
  /**
   * Time; replaced in tests.
   *
   * @default {systemClock}
   */
  readonly clock?: Clock;
  /**
   * Chance for jitter, at least 0 and below 1; replaced in tests.
   *
   * @default {Math.random}
   */
  readonly random?: () => number;
}

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly queue: string;
  readonly onUnknownUrn: UnknownUrnStrategy | undefined;
  readonly maxAttempts: number;
  readonly deadLetter: boolean;
  readonly deadLetterQueue: string | null | undefined;
  readonly deadLetterSuffix: string | undefined;
  readonly retry: Required<RetryOptions>;
  readonly unknownUrnReleaseDelayMs: number;
  readonly shutdownTimeoutMs: number;
  readonly concurrency: number;
  readonly prefetch: number | undefined;
  readonly strict: boolean;
  readonly handlerTimeoutMs: number;
  readonly pollTimeoutMs: number;
  readonly onEvent: ((event: BabelQueueEvent) => void) | undefined;
  readonly clock: Clock;
  readonly random: () => number;
}

const textOrNull: OptionCheck = (name, value) => {
  if (value !== null) text(name, value);
};
const factor: OptionCheck = (name, value) => {
  if (typeof value !== "number" || !(value >= 1) || value === Infinity) {
    refuseOption(name, value, "a finite number of at least 1");
  }
};
const clock: OptionCheck = (name, value) => {
  const candidate = value as Partial<Clock> | null;
  if (
    ["now", "elapsed", "sleep"].some((name) =>
      typeof candidate?.[name as keyof Clock] !== "function"
    )
  ) {
    refuseOption(name, value, "an object with now(), elapsed() and sleep()");
  }
};

const RETRY_CHECKS: { readonly [K in keyof Required<RetryOptions>]: OptionCheck } = {
  baseMs: duration(0),
  multiplier: factor,
  maxMs: duration(0),
  jitter: oneOf("none", "full"),
  maxHoldMs: duration(0),
};

const OPTION_CHECKS: { readonly [K in keyof Required<BabelQueueOptions>]: OptionCheck } = {
  queue: text,
  onUnknownUrn: oneOf("fail", "delete", "release", "dead_letter"),
  maxAttempts: integer(1),
  deadLetter: flag,
  deadLetterQueue: textOrNull,
  deadLetterSuffix: text,
  retry: (name, value) => void checkOptions(value, RETRY_CHECKS, `${name}.`),
  unknownUrnReleaseDelayMs: duration(0),
  shutdownTimeoutMs: duration(0),
  concurrency: integer(1),
  prefetch: integer(1),
  strict: flag,
  handlerTimeoutMs: duration(1),
  pollTimeoutMs: duration(0),
  onEvent: callable,
  clock,
  random: callable,
};

/** Chance as it was promised, whatever the given function returns or throws: no wait may become NaN. */
function steady(random: () => number): () => number {
  return () => {
    const drawn = attempt(random);
    return typeof drawn === "number" && drawn >= 0 && drawn < 1 ? drawn : 0;
  };
}

/** Defaults of every option that has one. Contract: C126. */
export const DEFAULTS: Omit<ResolvedOptions, "random"> = {
  queue: "default",
  onUnknownUrn: undefined,
  maxAttempts: 3,
  deadLetter: false,
  deadLetterQueue: undefined,
  deadLetterSuffix: undefined,
  retry: { baseMs: 0, multiplier: 1, maxMs: 0, jitter: "none", maxHoldMs: 30_000 },
  unknownUrnReleaseDelayMs: 0,
  shutdownTimeoutMs: 30_000,
  concurrency: 1,
  prefetch: undefined,
  strict: false,
  handlerTimeoutMs: 1_800_000,
  pollTimeoutMs: 1_000,
  onEvent: undefined,
  clock: systemClock,
};

/**
 * Checks the options and fills in the defaults.
 *
 * @param options What was given.
 * @returns Every option, set.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 */
export function resolveOptions(options: BabelQueueOptions = {}): ResolvedOptions {
  const given = checkOptions(options, OPTION_CHECKS);
  const retry = checkOptions(given.retry ?? {}, RETRY_CHECKS, "retry.");
  return {
    ...DEFAULTS,
    ...(given as Partial<ResolvedOptions>),
    retry: { ...DEFAULTS.retry, ...retry },
    random: given.random ? steady(given.random) : systemRandom,
  };
}

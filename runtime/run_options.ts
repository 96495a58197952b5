import { BabelQueueError } from "../core/errors.ts";
import {
  abortSignal,
  duration,
  integer,
  type OptionCheck,
  refuseOption,
  text,
} from "./option_checks.ts";

/** What to work on, and until when. */
export interface RunOptions {
  /**
   * The queues; as an object, with the handlers at a time for each.
   *
   * @default {the App's queue}
   */
  readonly queues?: readonly string[] | Readonly<Record<string, number>>;
  /**
   * Handlers at a time for each queue that does not name its own number.
   *
   * @default {the App's concurrency}
   */
  readonly concurrency?: number;
  /**
   * Stops the run when aborted: intake ends, what is in flight is finished and settled.
   *
   * @default {undefined}
   */
  readonly signal?: AbortSignal;
  /**
   * Ends handlers at once when aborted; their messages go back unchanged.
   *
   * @default {undefined}
   */
  readonly forceSignal?: AbortSignal;
}

/** What to work off. */
export interface ConsumeOptions {
  /**
   * The queue.
   *
   * @default {the App's queue}
   */
  readonly queue?: string;
  /**
   * Most messages to take.
   *
   * @default {undefined}
   */
  readonly maxMessages?: number;
  /**
   * Wait for the first message of each receive, in milliseconds; 0 = take only what is there.
   *
   * @default {the App's pollTimeoutMs}
   */
  readonly waitMs?: number;
  /**
   * Handlers at a time.
   *
   * @default {the App's concurrency}
   */
  readonly concurrency?: number;
  /**
   * Stops early when aborted.
   *
   * @default {undefined}
   */
  readonly signal?: AbortSignal;
}

/** What became of the messages of one `consume`. */
export interface ConsumeResult {
  /** Handlers that returned. */
  readonly handled: number;
  /** Deliveries whose handler failed; one message can count more than once. */
  readonly failed: number;
  /** Deliveries that were given another attempt. */
  readonly retried: number;
  /** Records written to a dead-letter queue. */
  readonly deadLettered: number;
  /** Messages acknowledged without having been handled. */
  readonly dropped: number;
}

/** One check an option of `run`. */
export const RUN_CHECKS: Readonly<Record<keyof RunOptions, OptionCheck>> = {
  queues: (name, value): void => {
    if (typeof value !== "object" || value === null) {
      refuseOption(name, value, "an array of names, or an object of numbers");
    }
  },
  concurrency: integer(1),
  signal: abortSignal,
  forceSignal: abortSignal,
};
/** One check an option of `consume`. */
export const CONSUME_CHECKS: Readonly<Record<keyof ConsumeOptions, OptionCheck>> = {
  queue: text,
  maxMessages: integer(1),
  waitMs: duration(0),
  concurrency: integer(1),
  signal: abortSignal,
};

/**
 * The queues of a `run` and the handlers at a time for each.
 *
 * @throws {BabelQueueError} `invalid_option` when there is none, or a name or number is out of bounds.
 */
export function queuesOf(
  queues: readonly string[] | Readonly<Record<string, number>>,
  concurrency: number,
): readonly (readonly [string, number])[] {
  const entries = Array.isArray(queues)
    // Unlike `map` it gives a hole too.
    ? Array.from(queues as readonly string[], (queue) => [queue, concurrency] as const)
    : Object.entries(queues as Readonly<Record<string, number>>);
  if (entries.length === 0) {
    throw new BabelQueueError("invalid_option", "Cannot run: option 'queues' names no queue");
  }
  for (const [queue, slots] of entries) {
    text("queues", queue);
    integer(1)(`queues.${queue}`, slots);
  }
  return entries;
}

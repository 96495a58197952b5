/**
 * The names of a queue's keys, in both layouts.
 *
 * @module
 */

import { BabelQueueError } from "@bq/core/transport";
import { slotOf } from "./_slot.ts";

/** The keys of one queue in the zset layout. Contract: R1. */
export interface ZsetKeys {
  /** List of what can be received. */
  readonly ready: string;
  /** Sorted set of what waits for its time. */
  readonly delayed: string;
  /** Sorted set of what is being worked on. */
  readonly reserved: string;
  /** List of wake-up tokens. */
  readonly notify: string;
}

/** The keys of one queue in the legacy layout. Contract: R60. */
export interface LegacyKeys {
  /** List of what can be received. */
  readonly ready: string;
  /** List of what is being worked on. */
  readonly processing: string;
  /** Sorted set of when that has to be done. */
  readonly deadlines: string;
}

/**
 * Names the keys of a queue in the zset layout. Names are used as given: braces are neither added nor
 * taken away. Contract: R1, R3.
 *
 * @param queue Logical name of the queue.
 * @param prefix What stands before it.
 * @returns The names.
 */
export function zsetKeys(queue: string, prefix: string = "queues:"): ZsetKeys {
  const ready = prefix + queue;
  return {
    ready,
    delayed: `${ready}:delayed`,
    reserved: `${ready}:reserved`,
    notify: `${ready}:notify`,
  };
}

/**
 * Names the keys of a queue in the legacy layout. Contract: R60.
 *
 * @param queue Logical name of the queue.
 * @param processingSuffix What the name of the processing list ends with.
 * @returns The names.
 */
export function legacyKeys(queue: string, processingSuffix: string = ":processing"): LegacyKeys {
  const processing = queue + processingSuffix;
  return { ready: queue, processing, deadlines: `${processing}:deadlines` };
}

/**
 * Refuses keys that a Redis Cluster keeps in different slots: one script could not touch them.
 * Contract: R3, R9.
 *
 * @param queue The queue that they belong to.
 * @param keys Every key.
 * @throws {BabelQueueError} `invalid_option`, naming the fix.
 */
export function assertOneSlot(queue: string, keys: readonly string[]): void {
  const [first = "", ...others] = keys;
  const slot = slotOf(first);
  const stray = others.find((key) => slotOf(key) !== slot);
  if (stray === undefined) return;
  throw new BabelQueueError(
    "invalid_option",
    `Cannot use queue '${queue}' on a Redis Cluster: key '${first}' is in slot ${slot}, ` +
      `'${stray}' in slot ${
        slotOf(stray)
      }; a hash tag keeps them together: name the queue '{${queue}}'`,
  );
}

/** What a transport is opened with where no App does it. */

import { systemClock } from "@bq/core";
import type { TransportContext } from "@bq/core/transport";

/** The context that an App would give, with what a test wants to be different. */
export function context(more: Partial<TransportContext> = {}): TransportContext {
  return {
    clock: systemClock,
    random: () => 0.5,
    bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    emit: () => {},
    ...more,
  };
}

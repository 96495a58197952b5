import {
  BabelQueueError,
  failedOutcome,
  type PublishOutcome,
  uncertainOutcome,
} from "@bq/core/transport";
import { isRefused, textOf } from "./_errors.ts";
import { CalledOffError } from "./_producing.ts";

/** What a publish came to that was written. */
export const CONFIRMED: PublishOutcome = Object.freeze({ status: "confirmed" });

/** What a publish came to that was not: nothing was written, or nobody knows. */
export function outcomeOf(queue: string, topic: string, error: unknown): PublishOutcome {
  const calledOff = error instanceof CalledOffError ? error : undefined;
  const nothing = calledOff !== undefined ? !calledOff.sent : isRefused(error);
  const doing = `publish to '${queue}'${topic === queue ? "" : `, topic '${topic}'`}`;
  if (error instanceof BabelQueueError) {
    const text = `Cannot ${doing}: ${textOf(error)}`;
    return { status: "failed", error: new BabelQueueError(error.code, text, { cause: error }) };
  }
  return (nothing ? failedOutcome : uncertainOutcome)(doing, error, textOf(error));
}

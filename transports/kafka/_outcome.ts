import { BabelQueueError, type PublishOutcome, PublishUncertainError } from "@bq/core/transport";
import { isRefused, textOf } from "./_errors.ts";
import { CalledOffError } from "./_producing.ts";

/** What a publish came to that was written. */
export const CONFIRMED: PublishOutcome = Object.freeze({ status: "confirmed" });

/** What a publish came to that was not: nothing was written, or nobody knows. */
export function outcomeOf(queue: string, topic: string, error: unknown): PublishOutcome {
  const calledOff = error instanceof CalledOffError ? error : undefined;
  const nothing = calledOff !== undefined ? !calledOff.sent : isRefused(error);
  const place = topic === queue ? `'${queue}'` : `'${queue}', topic '${topic}'`;
  if (error instanceof BabelQueueError || nothing) {
    const text = `Cannot publish to ${place}: ${textOf(error)}`;
    const code = error instanceof BabelQueueError ? error.code : "publish_failed";
    return { status: "failed", error: new BabelQueueError(code, text, { cause: error }) };
  }
  const text = `Cannot confirm a publish to ${place}: ${textOf(error)}`;
  return { status: "uncertain", error: new PublishUncertainError(text, { cause: error }) };
}

import { type Clock, within } from "@bq/core/transport";
import type { AmqpOutgoing } from "./_amqp.ts";
import type { Sender } from "./_sender.ts";

/** Longest wait for the confirmation of a copy or a record, in milliseconds. */
const WRITE_MS = 20_000;

/**
 * Sends what has to be there before an original is acknowledged.
 *
 * @param sender The link to its queue.
 * @param message The message.
 * @param clock Time.
 * @param ended Ends the wait, as its time does.
 * @returns Undefined when the broker has it, else why that is not known. Contract: G36, X16.
 */
export async function confirmed(
  sender: Sender,
  message: AmqpOutgoing,
  clock: Clock,
  ended: AbortSignal,
): Promise<Error | undefined> {
  const send = (over: AbortSignal) => sender.send([message], over);
  const [outcome] = await within(WRITE_MS, clock, ended, send);
  return outcome === undefined || outcome.status === "confirmed" ? undefined : outcome.error;
}

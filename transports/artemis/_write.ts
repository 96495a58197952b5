import type { Clock } from "@bq/core/transport";
import type { AmqpMessage } from "./_amqp.ts";
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
  message: AmqpMessage,
  clock: Clock,
  ended: AbortSignal,
): Promise<Error | undefined> {
  const patience = new AbortController();
  const answered = new AbortController();
  void clock.sleep(WRITE_MS, answered.signal).then(() => patience.abort());
  const signal = AbortSignal.any([patience.signal, ended]);
  const [outcome] = await sender.send([message], signal);
  answered.abort();
  return outcome === undefined || outcome.status === "confirmed" ? undefined : outcome.error;
}

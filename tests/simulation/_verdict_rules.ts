import type { Verdict } from "../../runtime/transport.ts";
import type { Handed } from "./_handed.ts";
import { mayDrop } from "./_may_drop.ts";
import { attemptsOf, recordedAttemptsOf, serialOf } from "./_message.ts";
import type { Host } from "./_world.ts";

/** What the first verdict on a delivery has to be like, after all that happened to it. */
export function checkVerdict(
  { world, options }: Host,
  handed: Handed,
  verdict: Verdict,
  broken: (rule: string, detail: string) => void,
): void {
  const { nowMs, steps } = world.time;
  const { message } = handed.item;
  const { handler, reconciled, delivery } = handed;
  // Within one step the worker may not have seen the result yet.
  if (handed.handled && verdict.kind !== "ack" && handler!.endedInStep < steps) {
    broken("a handled message is acknowledged", "");
  }
  const cutShort = handler?.state === "running" && verdict.kind !== "return" &&
    verdict.kind !== "leave" && nowMs < handler.startedAtMs + handler.timeoutMs;
  if (cutShort) broken("no verdict while the handler runs", "");
  switch (verdict.kind) {
    case "ack":
      if (handler?.state === "returned" || mayDrop(options, world.plan.policy, handed)) return;
      return broken("no acknowledgement without a reason", "");
    case "retry": {
      const inBody = attemptsOf(verdict.body);
      const wanted = handed.kind === "poison" ? attemptsOf(delivery.body) : reconciled + 1;
      if (verdict.attempts !== reconciled + 1 || inBody !== wanted) {
        broken("a retry counts one", `, attempts in the body ${inBody}`);
      }
      if (serialOf(verdict.body) !== message.serial) broken("a retry is the message", "");
      // Else a handler would see an attempt above the cap.
      if (verdict.attempts >= (options.maxAttempts ?? 3)) broken("no retry at the cap", "");
      return;
    }
    case "deadLetter":
      if (serialOf(verdict.record) !== message.serial) broken("a record is the message", "");
      if (!tellsCount(handed, verdict.record)) broken("a record tells the count", "");
      return;
    default:
      return;
  }
}

/** A failed delivery counts, one that no handler could see does not; for an unknown URN the strategy decides. */
function tellsCount({ kind, reconciled }: Handed, record: Uint8Array): boolean {
  const attempts = recordedAttemptsOf(record);
  switch (kind) {
    case "gated":
      return attempts === null;
    case "poison":
      return attempts === reconciled;
    case "unknown":
      return attempts === reconciled || attempts === reconciled + 1;
    default:
      return attempts === reconciled + 1;
  }
}

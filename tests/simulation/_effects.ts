import type { Verdict } from "../../runtime/transport.ts";
import { type Broker, stored } from "./_broker.ts";
import type { Handed } from "./_handed.ts";
import { serialOf } from "./_message.ts";
import type { BrokerPlan } from "./_plan.ts";

/** Place of what is dead-lettered natively. */
export const NATIVE_PLACE = "native dead letters";

/** Whether a verdict needs a write that can fail before the acknowledgement. */
export function writes(verdict: Verdict, plan: BrokerPlan): boolean {
  if (verdict.kind === "deadLetter") return true;
  return plan.copies && (verdict.kind === "retry" || verdict.kind === "release");
}

/** What a settle does to the broker: its write, and then the end of the original. */
export function applyVerdict(
  broker: Broker,
  handed: Handed,
  verdict: Verdict,
  extent: "all" | "write only",
): void {
  const { item } = handed;
  const { message, queue, headers, gated } = item;
  const { counting, copies, returnCounts } = broker.plan;
  // With hardly any time a message that is released at once would turn in a circle for ever.
  const releaseMs = verdict.kind === "release" ? Math.max(50, verdict.delayMs) : 0;
  switch (verdict.kind) {
    case "ack":
      return broker.remove(item);
    case "retry":
      if (copies) {
        const { attempts } = verdict;
        const header = counting === "replaces" ? { header: attempts } : {};
        const more = { headers, gated, beside: attempts, counted: attempts, ...header };
        broker.put(stored(message, queue, verdict.body.slice(), more), verdict.delayMs);
        if (extent === "all") broker.remove(item);
        return;
      }
      if (counting !== "floor") item.body = verdict.body.slice();
      if (counting === "replaces") item.header = verdict.attempts;
      item.beside = verdict.attempts;
      item.counted = counting === "floor" ? handed.reconciled : verdict.attempts;
      return broker.putAgain(item, verdict.delayMs);
    case "release":
      if (copies) {
        const { header, beside, counted } = item;
        const more = {
          counted,
          headers,
          gated,
          ...(header === undefined ? {} : { header }),
          ...(beside === undefined ? {} : { beside }),
        };
        broker.put(stored(message, queue, item.body, more), releaseMs);
        if (extent === "all") broker.remove(item);
        return;
      }
      return broker.putAgain(item, releaseMs);
    case "return":
      if (!returnCounts) item.delivered--;
      return broker.giveBack(item);
    case "leave":
      return;
    case "deadLetter":
      if (serialOf(verdict.record) === message.serial) message.records++;
      broker.put(stored(message, verdict.queue, verdict.record, { gated }), 0);
      if (extent === "all") broker.remove(item);
      return;
    case "deadLetterNatively":
      message.records++;
      broker.put(stored(message, NATIVE_PLACE, item.body, { gated }), 0);
      return broker.remove(item);
  }
}

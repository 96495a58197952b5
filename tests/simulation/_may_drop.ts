import type { Handed } from "./_handed.ts";
import type { BabelQueueOptions } from "../../runtime/options.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";

/**
 * Whether options and policy allow that this message is acknowledged although no handler returned for
 * it. Written from the decision tables of the contract, not from the worker.
 */
export function mayDrop(
  options: BabelQueueOptions,
  policy: SettlementPolicy,
  handed: Handed,
): boolean {
  const { onUnknownUrn = "fail", deadLetterQueue, deadLetter = false, maxAttempts = 3 } = options;
  const recordsOff = deadLetterQueue === null ||
    (deadLetterQueue === undefined && !deadLetter && onUnknownUrn !== "dead_letter");
  const atCap = handed.reconciled + 1 >= maxAttempts;
  const spent = recordsOff && policy.exhaustedOff === "drop" && atCap;
  switch (handed.kind) {
    case "good":
    case "foreign":
      if (handed.handler === null) return false;
      return spent || (handed.handler.final && recordsOff && policy.exhaustedOff === "drop");
    case "unknown":
      if (onUnknownUrn === "delete") return true;
      if (onUnknownUrn === "dead_letter") return recordsOff;
      if (onUnknownUrn === "release") return spent && policy.release === "counted";
      return spent;
    case "poison": {
      if (policy.poison.deletable && onUnknownUrn === "delete") return true;
      if (!recordsOff) return false;
      const route = onUnknownUrn === "dead_letter" ? policy.poison.optedOut : policy.poison.off;
      return route === "drop" || (route === "retry" && atCap);
    }
    case "gated":
      return onUnknownUrn === "delete" ||
        (recordsOff && (policy.gatedOff ?? "drop") === "drop");
  }
}

import type { WarningCode } from "./events.ts";
import type { SettlementPolicy } from "./policy.ts";

/** What a worker knows about itself when it starts. */
export interface StartState {
  readonly handlers: number;
  readonly deadLetterSet: boolean;
  readonly maxAttempts: number;
  readonly policy: SettlementPolicy;
}

/** What deserves a warning before the first message is met. Contract: K25, G56. */
export function startWarnings(state: StartState): readonly (readonly [WarningCode, string])[] {
  const { handlers, deadLetterSet, maxAttempts, policy } = state;
  const warnings: [WarningCode, string][] = [];
  if (handlers === 0) {
    warnings.push(["no_handlers", "no handler is registered: every message is an unknown URN"]);
  }
  if (!deadLetterSet) {
    const text = "deadLetter is not set: messages that fail for good are dropped";
    warnings.push(["dead_letter_not_set", text]);
  }
  if (policy.retry === "impossible" && maxAttempts > 1) {
    const text = `'${policy.broker}' as it is set up cannot retry a message`;
    warnings.push(["retry_impossible", text]);
  }
  return warnings;
}

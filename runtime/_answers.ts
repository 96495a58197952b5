/**
 * What a transport answers, looked at once: an answer that breaks the types of the seam must end
 * neither the process nor the work, and nothing may wait for it for ever.
 *
 * @module
 */

import { attempt, isA, messageOf } from "../core/thrown.ts";
import { ConnectionError, PublishUncertainError } from "../core/errors.ts";
import type { Delivery, PublishOutcome, Subscription } from "./transport.ts";

/**
 * Looks at what `subscribe` brought.
 *
 * @throws {ConnectionError} fatal: the next try would bring the same.
 */
export function subscriptionOf(answer: Subscription, queue: string): Subscription {
  const { lanes, receive, settle, close, extend } = (answer ?? {}) as Partial<Subscription>;
  const calls = [receive, settle, close, ...(extend === undefined ? [] : [extend])];
  const missing = !calls.every((call) => typeof call === "function")
    ? "no subscription"
    : typeof lanes !== "number" || !(lanes >= 1)
    ? `a subscription of ${messageOf(lanes)} lanes`
    : undefined;
  if (missing === undefined) return answer;
  throw new ConnectionError(`Cannot subscribe to '${queue}': the transport gave ${missing}`, {
    fatal: true,
  });
}

/** The deliveries of an answer, and an error for whatever else is in it. */
export function deliveriesOf(
  answer: readonly Delivery[],
  queue: string,
): { readonly deliveries: readonly Delivery[]; readonly flaw?: Error } {
  // Unlike `every` it looks at holes too.
  if (Array.isArray(answer) && answer.findIndex(isNoDelivery) < 0) return { deliveries: answer };
  const deliveries = Array.isArray(answer) ? answer.filter((one) => !isNoDelivery(one)) : [];
  const flaw = new ConnectionError(
    `Cannot receive from '${queue}': the transport gave what is no delivery`,
  );
  return { deliveries, flaw };
}

function isNoDelivery(given: Delivery): boolean {
  return attempt(() => {
    const { body, headers, counting, leaseUntilMs = 0 } = given;
    return !(isObject(body) && isObject(headers) && isObject(counting) &&
      typeof leaseUntilMs === "number" && !Number.isNaN(leaseUntilMs));
  }) ?? true;
}

function isObject(given: unknown): boolean {
  return typeof given === "object" && given !== null;
}

/** One outcome a message; what a transport did not say is uncertain. */
export function outcomesOf(
  answer: readonly PublishOutcome[],
  messages: number,
  queue: string,
): readonly PublishOutcome[] {
  const outcomes: readonly PublishOutcome[] = Array.isArray(answer) ? answer : [];
  if (outcomes.length === messages && outcomes.findIndex(isNoOutcome) < 0) return outcomes;
  return Array.from({ length: messages }, (_, index) => {
    const outcome = outcomes[index];
    return outcome === undefined || isNoOutcome(outcome) ? unanswered(queue) : outcome;
  });
}

function isNoOutcome(given: PublishOutcome): boolean {
  return attempt(() => {
    if (given.status === "confirmed") return false;
    return !(["failed", "uncertain"].includes(given.status) && isA(given.error, Error));
  }) ?? true;
}

function unanswered(queue: string): PublishOutcome {
  const error = new PublishUncertainError(
    `Cannot confirm a publish to '${queue}': the transport gave no outcome`,
  );
  return { status: "uncertain", error };
}

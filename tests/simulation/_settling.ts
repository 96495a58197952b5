import { ConnectionError, SettleWriteError } from "../../core/errors.ts";
import type { Delivery, Verdict } from "../../runtime/transport.ts";
import { MOST_TWINS } from "./_broker.ts";
import { fateOfExtend, fateOfSettle } from "./_fates.ts";
import type { Handed } from "./_handed.ts";
import { applyVerdict, writes } from "./_effects.ts";
import type { SimSubscription } from "./_subscription.ts";

/** A settle: the rules look at the call, and then everything can go wrong with it. */
export function settle(
  subscription: SimSubscription,
  delivery: Delivery,
  verdict: Verdict,
): Promise<"settled" | "expired"> {
  const { rules, line } = subscription.transport;
  const { faults, broker, log } = subscription.host.world;
  const handed = subscription.find(delivery)!;
  const call = rules.settle(subscription, handed, verdict);
  if (faults.strikes("settle throws")) {
    rules.answered(handed, call, "failed");
    throw new Error("the settle could not be made");
  }
  const writing = writes(verdict, broker.plan);
  const unwritten = writing && faults.strikes("settle write fails");
  const unsure = writing && faults.strikes("settle write unsure");
  const effect = (): "settled" | "expired" => {
    if (verdict.kind === "leave") return "settled";
    if (unwritten) throw new SettleWriteError("the broker refused the write");
    if (unsure && handed.item.message.twins++ < MOST_TWINS) {
      applyVerdict(broker, handed, verdict, "write only");
      throw new SettleWriteError("the broker did not confirm the write");
    }
    if (!broker.holds(handed.item, delivery)) return "expired";
    handed.done = true;
    if (verdict.kind === "ack" && !call.handled) {
      log.step("broker", `drops ${handed}`);
      handed.item.message.dropped++;
    }
    applyVerdict(broker, handed, verdict, "all");
    return "settled";
  };
  const answer = subscription.closed
    ? Promise.reject(new ConnectionError("the subscription is closed"))
    : line.ask(effect, fateOfSettle(subscription.host.world));
  return answer.then((result) => {
    rules.answered(handed, call, result);
    return result;
  }, (error) => {
    rules.answered(handed, call, error instanceof SettleWriteError ? "write failed" : "failed");
    throw error;
  });
}

/** The extension of a lease, in the same way. */
export function extend(subscription: SimSubscription, handed: Handed): Promise<number | null> {
  const { host, transport: { rules, line } } = subscription;
  const { faults, broker } = host.world;
  const { item, delivery } = handed;
  rules.extend(handed);
  if (faults.strikes("extend throws")) {
    rules.extendFailed(handed);
    throw new Error("the extension could not be asked for");
  }
  const gone = faults.strikes("extend null");
  const answer = line.ask(() => {
    if (gone && broker.holds(item, delivery)) broker.giveBack(item);
    if (!broker.holds(item, delivery)) return null;
    broker.extend(item);
    return host.wallMs + broker.plan.leaseMs!;
  }, fateOfExtend(host.world));
  return answer.then((untilMs) => {
    rules.extended(handed, untilMs);
    return untilMs;
  }, (error) => {
    rules.extendFailed(handed);
    throw error;
  });
}

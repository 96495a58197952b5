import type { Verdict } from "../../runtime/transport.ts";
import type { Handed, HandlerCall, SettleCall } from "./_handed.ts";
import { checkVerdict } from "./_verdict_rules.ts";
import type { SimSubscription } from "./_subscription.ts";
import type { Host } from "./_world.ts";

/** After this time without an answer the worker may count on none, in milliseconds. */
const PATIENCE_MS = 30_000;

/** What has to hold whenever the worker calls the transport or a handler. */
export class Rules {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  broken(rule: string, detail: string): void {
    this.#host.world.log.broken(rule, `${this.#host.name}: ${detail}`);
  }

  /** The App called its transport. */
  called(what: string): void {
    this.#host.world.log.step(this.#host.name, `calls ${what}`);
    if (this.#host.closed) this.broken("nothing after close", `called ${what}`);
  }

  receive(subscription: SimSubscription, max: number, waitMs: number): void {
    this.called(`receive(${max}, ${waitMs})`);
    const { world } = this.#host;
    if (subscription.options.intake.aborted) {
      this.broken("no receive after the end of intake", `receive(${max}, ${waitMs})`);
    }
    const { nowMs, steps } = world.time;
    if (nowMs < subscription.quietUntilMs && steps > subscription.failedInStep) {
      this.broken("a failed receive is followed by a pause", `receive(${max}, ${waitMs})`);
    }
    if (!(max >= 1)) this.broken("receive asks for something", `receive(${max}, ${waitMs})`);
    const alive = [...subscription.receives].filter((receive) => !receive.givenUp);
    if (alive.length >= subscription.lanes) {
      this.broken("receives ≤ lanes", `${alive.length + 1} of ${subscription.lanes}`);
    }
    const asked = alive.reduce((sum, receive) => sum + receive.max, max);
    const slots = subscription.handed.filter((handed) => handed.inSlot(nowMs)).length;
    const { concurrency = 1 } = this.#host.options;
    if (asked + slots > concurrency) {
      const detail = `${asked} asked for, ${slots} in slots, concurrency ${concurrency}`;
      this.broken("receive asks for free slots only", detail);
    }
  }

  taken({ item, reconciled }: Handed): void {
    if (reconciled < item.counted) {
      const detail = `#${item.message.serial}: ${reconciled} after ${item.counted}`;
      this.broken("the count never goes down", detail);
    }
    item.counted = reconciled;
  }

  settle(subscription: SimSubscription, handed: Handed, verdict: Verdict): SettleCall {
    const { world, name, closed } = this.#host;
    const { nowMs } = world.time;
    const what = `settle(${handed}, ${describe(verdict)})`;
    world.log.step(name, `calls ${what}`);
    world.log.seen.add(`verdict ${verdict.kind}`);
    if (closed && !handed.late) this.broken("nothing after close", what);
    // Within one step the worker may not have seen the answer yet.
    if (handed.lost && handed.lostInStep < world.time.steps) {
      this.broken("no settle after lost()", what);
    }
    if (nowMs >= handed.untilMs) {
      this.broken(
        "no settle after the lease",
        `${what}, lease over for ${nowMs - handed.untilMs} ms`,
      );
    }
    if (handed.lease.overdue) this.broken("a lease in hand is kept", what);
    handed.lease.waits();
    const last = handed.settles.at(-1);
    if (last && (last.answer !== "write failed" || handed.settles.length > 1)) {
      this.broken("no second settle", `${what}, before: ${describe(last.verdict)}, ${last.answer}`);
    } else if (last) {
      const { writeFailed, shutdown } = world.plan.policy;
      if (verdict.kind !== writeFailed.kind && verdict.kind !== shutdown) {
        this.broken("a failed write keeps the original", what);
      }
    } else {
      checkVerdict(
        this.#host,
        handed,
        verdict,
        (rule, detail) => this.broken(rule, `${what}${detail}`),
      );
    }
    const call: SettleCall = {
      verdict,
      atMs: world.time.nowMs,
      handled: verdict.kind === "ack" && handed.handler?.state === "returned",
      unclear: handed.endsLate(world.time),
      prompt: handed.prompt(world.time),
      answer: "none",
      answeredAtMs: NaN,
    };
    handed.settles.push(call);
    const { concurrency = 1, prefetch = concurrency } = this.#host.options;
    const open = subscription.handed.filter(({ settles, surplus }) =>
      !surplus &&
      settles.some(({ answer, atMs, prompt }) =>
        prompt && answer === "none" && world.time.nowMs < atMs + PATIENCE_MS
      )
    ).length;
    if (open > concurrency + prefetch) {
      this.broken("settles ≤ concurrency + prefetch", `${open} of ${concurrency + prefetch}`);
    }
    return call;
  }

  answered(handed: Handed, call: SettleCall, answer: SettleCall["answer"]): void {
    const { world, name, alive } = this.#host;
    if (!alive) return;
    call.answer = answer;
    call.answeredAtMs = world.time.nowMs;
    if (answer === "write failed") handed.lease.known(handed.untilMs);
    else handed.done = true;
    world.log.step(name, `is told ${answer}: settle(${handed}, ${describe(call.verdict)})`);
  }

  extend(handed: Handed): void {
    const what = `extend(${handed})`;
    this.called(what);
    handed.lease.waits();
    if (handed.lost) this.broken("no extend after lost()", what);
    const last = handed.settles.at(-1);
    if (last && last.answer !== "write failed") this.broken("no extend after settle", what);
  }

  extended(handed: Handed, untilMs: number | null): void {
    const { world, name } = this.#host;
    const leftMs = untilMs === null ? null : untilMs - this.#host.wallMs;
    world.log.step(name, `is told extend(${handed}): ${leftMs === null ? "lost" : `${leftMs} ms`}`);
    // An answer that comes after the settle is not looked at.
    const last = handed.settles.at(-1);
    if (last && last.answer !== "write failed") return;
    const { nowMs } = world.time;
    if (nowMs >= handed.untilMs) handed.doubtful = true;
    if (leftMs === null) {
      handed.lost = true;
      handed.lostInStep = world.time.steps;
    } else handed.untilMs = nowMs + leftMs;
    if (!handed.doubtful) handed.lease.known(handed.untilMs);
  }

  /** The answer was an error: the worker has to ask again. */
  extendFailed(handed: Handed): void {
    this.#host.world.log.step(this.#host.name, `is told of an error: extend(${handed})`);
    handed.lease.known(handed.untilMs);
  }

  /** A lease ended at the broker. */
  leaseEnds(handed: Handed): void {
    const last = handed.settles.at(-1);
    if (!this.#host.alive || handed.lost || (last && last.answer !== "write failed")) return;
    if (handed.lease.overdue) this.broken("a lease in hand is kept", String(handed));
  }

  handlerStarts(
    subscription: SimSubscription,
    handed: Handed,
    attempt: number,
    timeoutMs: number,
  ): HandlerCall {
    const { world, name } = this.#host;
    const { nowMs } = world.time;
    world.log.step(name, `handler of ${handed}, attempt ${attempt}`);
    if (handed.handler !== null) this.broken("one handler a delivery", String(handed));
    if (!handed.dispatchable && !world.faults.healed) {
      this.broken("only messages with a handler are handled", String(handed));
    }
    if (handed.settles.length > 0 || handed.lost || nowMs >= handed.untilMs) {
      this.broken("only held messages are handled", String(handed));
    }
    if (attempt !== handed.reconciled + 1) {
      this.broken("attempt = count + 1", `${handed}, attempt ${attempt}`);
    }
    const call: HandlerCall = {
      startedAtMs: nowMs,
      timeoutMs,
      state: "running",
      final: false,
      endedAtMs: NaN,
      endedInStep: -1,
    };
    handed.handler = call;
    const running =
      subscription.handed.filter((other) =>
        other.handler?.state === "running" && other.inSlot(nowMs)
      ).length;
    const { concurrency = 1 } = this.#host.options;
    if (running > concurrency) {
      this.broken("handlers ≤ concurrency", `${running} of ${concurrency}`);
    }
    return call;
  }
}

function describe(verdict: Verdict): string {
  switch (verdict.kind) {
    case "retry":
      return `retry, attempts ${verdict.attempts}, delay ${verdict.delayMs}`;
    case "release":
      return `release, delay ${verdict.delayMs}`;
    case "deadLetter":
      return `dead letter on ${verdict.queue}, ${verdict.reason}`;
    default:
      return verdict.kind;
  }
}

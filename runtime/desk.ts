import type { Clock } from "../core/clock.ts";
import { BabelQueueError, HandlerTimeoutError, type SettleWriteError } from "../core/errors.ts";
import { codeOf, messageOf } from "../core/thrown.ts";
import { Attached } from "./_attached.ts";
import { issue } from "./_waits.ts";
import type { Deadlines } from "./_deadlines.ts";
import { Held, type SettleCause } from "./_held.ts";
import { Reporter } from "./_reporter.ts";
import { ACK, decide, type Decision, type Outcome } from "./decide.ts";
import { type Dispatch, examine } from "./examine.ts";
import type { EventHub } from "./events.ts";
import { type HandlerRunner, runHandler } from "./handler.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Router } from "./router.ts";
import type { ConsumeResult } from "./run_options.ts";
import type { Delivery, Subscription, Transport, Verdict } from "./transport.ts";

/** Most messages one worker holds back at a time; further ones are settled at once. */
const LARGEST_HOLD = 1_000;

/** Shortest hold of a message about which no decision could be made, in milliseconds. */
const UNDECIDED_HOLD_MS = 1_000;

/** Longest wait for the answer to a settle, in milliseconds; a later answer changes nothing. */
const SETTLE_PATIENCE_MS = 30_000;

/** What a desk shares with its App. */
export interface DeskEnvironment {
  readonly transport: Transport;
  readonly options: ResolvedOptions;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly hub: EventHub;
  readonly router: Router;
  readonly runner: HandlerRunner;
  /** What was said once already. */
  readonly said: Set<string>;
}

/** What became of messages, while it is counted. */
export type Counts = { -readonly [Name in keyof ConsumeResult]: ConsumeResult[Name] };

/**
 * The deliveries in one worker's hands: each goes ready → working → (holding →) settling → gone, or is
 * lost on the way, and its handler slot is free as soon as the settle is issued.
 */
export class Desk {
  readonly counts: Counts = { handled: 0, failed: 0, retried: 0, deadLettered: 0, dropped: 0 };
  readonly #env: DeskEnvironment;
  readonly #concurrency: number;
  readonly #largestSettling: number;
  readonly #wake: () => void;
  readonly #report: Reporter;
  readonly #inHand: Map<Delivery, Held> = new Map();
  readonly #ready: Held[] = [];
  readonly #holding: Set<Held> = new Set();
  /** Every delivery that ever came, so that one handed out twice is told from a new one. */
  readonly #admitted: Attached<Delivery, true> = new Attached();
  readonly #lostEarly: WeakMap<Delivery, Error> = new WeakMap();
  #working = 0;
  #settling = 0;
  #lateResults = 0;
  #ended = false;

  /** `wake` is called when a slot became free or the last delivery left. */
  constructor(env: DeskEnvironment, concurrency: number, wake: () => void) {
    this.#env = env;
    this.#concurrency = concurrency;
    this.#largestSettling = concurrency + (env.options.prefetch ?? concurrency);
    this.#wake = wake;
    this.#report = new Reporter(env.hub, env.clock, this.counts, env.said);
  }

  /** Handler slots that nothing waits for. */
  get free(): number {
    // Each delivery in hand ends in a settle, so both limits count what is not settled yet.
    const unsettled = this.#working + this.#ready.length;
    const left = Math.min(this.#concurrency, this.#largestSettling - this.#settling) - unsettled;
    return Math.max(0, left);
  }

  /** Whether nothing is in hand. */
  get idle(): boolean {
    return this.#inHand.size === 0;
  }

  /** How much is in hand. */
  get load(): { inFlight: number; held: number; settling: number; lateResults: number } {
    return {
      inFlight: this.#working + this.#ready.length,
      held: this.#holding.size,
      settling: this.#settling,
      lateResults: this.#lateResults,
    };
  }

  /**
   * Takes a delivery in; after the end of intake it goes straight back.
   *
   * @returns Whether it waits for its slot; where not, listeners were told, and may have taken their time.
   */
  admit(held: Held): boolean {
    if (this.#admitted.get(held.delivery)) {
      held.lease?.stop();
      this.#report.handedOutTwice(held);
      return false;
    }
    this.#admitted.set(held.delivery, true);
    this.#inHand.set(held.delivery, held);
    const lost = this.#lostEarly.get(held.delivery);
    if (lost) this.leaseLost(held, lost);
    else if (this.#ended) this.#conclude(held, { kind: "shutdown" });
    else return this.#ready.push(held) > 0;
    return false;
  }

  /** Gives back what a receive that hung beyond the end brings, as far as it can still be settled. */
  giveBackLate(delivery: Delivery, subscription: Subscription): void {
    const { clock } = this.#env;
    if (this.#admitted.get(delivery)) return;
    this.#admitted.set(delivery, true);
    const held = new Held(delivery, subscription);
    const lost = this.#lostEarly.get(delivery);
    if (lost || (delivery.leaseUntilMs ?? Infinity) <= clock.now()) {
      return this.#report.leaseLost(held, lost);
    }
    const { verdict } = this.#decide(held, { kind: "shutdown" });
    issue(() => subscription.settle(delivery, verdict)).then(
      (answer) => this.#report.answered(held, verdict, "shutdown", answer),
      (error) => this.#report.settleFailed(held, error),
    );
  }

  /**
   * Starts what waits, as far as slots are free.
   *
   * @param atMs Now, in milliseconds of `Clock.elapsed`, where it is known.
   */
  startReady(atMs?: number): void {
    let nowMs = atMs;
    while (this.#ready.length > 0 && this.#working < this.#concurrency) {
      this.#start(this.#ready.shift()!, nowMs ?? this.#env.clock.elapsed());
      // The handler may have worked for long before it waited for anything.
      nowMs = undefined;
    }
  }

  /** Cuts every hold short and, unless what was taken is still to be worked on, gives back what waits for a handler. */
  endIntake(finishReady: boolean): void {
    this.#ended = true;
    const unstarted = finishReady ? [] : this.#ready.splice(0);
    for (const held of unstarted) this.#conclude(held, { kind: "shutdown" });
    for (const held of [...this.#holding]) held.afterHold?.();
  }

  /** Gives back what handlers have not finished; their late results are ignored. Contract: C165, C169. */
  giveBackAll(): void {
    for (const held of [...this.#inHand.values()]) {
      if (held.state === "working") this.#cutOff(held, { kind: "shutdown" }, stopped());
    }
  }

  /** A delivery that the transport reports as lost. */
  lost(delivery: Delivery, cause: Error): void {
    const held = this.#inHand.get(delivery);
    if (held) this.leaseLost(held, cause);
    // It may be on its way here: the receive that brings it has resolved, and nobody has run since.
    else this.#lostEarly.set(delivery, cause);
  }

  /** A delivery whose lease is over: it belongs to the queue again, and nothing is settled. */
  leaseLost(held: Held, error?: Error): void {
    const { state } = held;
    held.lost = true;
    if (state === "deciding" || state === "settling" || state === "gone") return;
    if (state === "working") this.#working--;
    else if (this.#ready.includes(held)) this.#ready.splice(this.#ready.indexOf(held), 1);
    this.#leave(held);
    this.#report.leaseLost(held, error);
    const reason = `Lost the lease of message '${held.messageId}' from '${held.delivery.queue}'`;
    held.abort(new BabelQueueError("lease_lost", reason, error ? { cause: error } : undefined));
    this.#wake();
  }

  /** Forgets everything; what is still in hand is the broker's again when its lease ends. */
  close(): void {
    this.#ended = true;
    for (const held of [...this.#inHand.values()]) {
      this.#leave(held);
      held.abort(stopped());
    }
  }

  #start(held: Held, nowMs: number): void {
    // It waited for its slot longer than its lease lasted.
    if (held.lease?.over(nowMs)) return this.leaseLost(held);
    held.state = "working";
    held.startedAtMs = nowMs;
    this.#working++;
    let examined: Dispatch | Outcome;
    try {
      examined = examine(held, {
        router: this.#env.router,
        policy: this.#env.transport.policy,
        strict: this.#env.options.strict,
        warn: this.#report.warn,
        warnOnce: this.#report.warnOnce,
      });
    } catch (error) {
      // Nothing in there throws; if it does all the same the message must not be lost with it.
      examined = { kind: "failed", error };
    }
    // A listener that was told of a warning may have stopped the worker: then it is given back already.
    if (held.state !== "working") return;
    if (examined.kind !== "dispatch") return this.#finish(held, examined);
    const { deadlines, options, runner } = this.#env;
    const timeoutMs = examined.route.timeoutMs ?? options.handlerTimeoutMs;
    held.deadline = deadlines.at(nowMs + timeoutMs, () => {
      const error = new HandlerTimeoutError(held.urn, timeoutMs);
      this.#cutOff(held, { kind: "failed", error }, error);
    });
    issue(() => runHandler(runner, held, examined)).then(
      () => this.#finish(held, { kind: "handled" }),
      (error) => this.#finish(held, { kind: "failed", error }),
    );
  }

  /** Ends the work before the handler does, which hears of it last: its listener may stop the worker, and finds everything in order. */
  #cutOff(held: Held, outcome: Outcome, reason: Error): void {
    this.#finish(held, outcome);
    held.abort(reason);
  }

  /** The first end of the work counts; a later one is only counted. */
  #finish(held: Held, outcome: Outcome): void {
    if (held.state !== "working") {
      this.#lateResults++;
      return this.#report.lateResult(held);
    }
    this.#working--;
    this.#env.deadlines.remove(held.deadline);
    this.#conclude(held, outcome);
    this.#wake();
  }

  #conclude(held: Held, outcome: Outcome): void {
    // Before anybody is told: a listener may stop the worker, and this delivery is not at work any more.
    held.state = "deciding";
    this.#report.outcome(held, outcome);
    const cause = causeOf(outcome);
    let decision: Decision;
    try {
      decision = this.#decide(held, outcome);
    } catch (error) {
      // A record that cannot be made must not lose the message: it goes back as after a failed write,
      // and since nothing counts it, not at once.
      this.#report.writeFailed(held, error);
      const { verdict, holdMs } = this.#decide(held, { kind: "writeFailed" });
      decision = { verdict, holdMs: Math.max(holdMs, UNDECIDED_HOLD_MS) };
    }
    if (decision.requestedMs !== undefined) this.#report.delayCut(decision.requestedMs, held);
    if (held.lost) {
      this.#leave(held);
      return this.#report.leaseLost(held);
    }
    this.#holdThenSettle(held, decision.verdict, decision.holdMs, cause);
  }

  #decide(held: Held, outcome: Outcome): Decision {
    // As nearly every message ends: it depends on neither time nor chance, so nobody asks for them.
    if (outcome.kind === "handled") return ACK;
    const { options, transport, clock } = this.#env;
    const { delivery, metaQueue, reconciled, canonical } = held;
    const subject = {
      queue: delivery.queue,
      body: delivery.body,
      metaQueue,
      reconciled,
      canonical,
      nowMs: clock.now(),
      random: options.random(),
    };
    return decide(outcome, subject, transport.policy, withCap(options, held.maxAttempts));
  }

  #holdThenSettle(held: Held, verdict: Verdict, holdMs: number, cause: SettleCause): void {
    if (holdMs <= 0 || this.#ended) return this.#settle(held, verdict, cause);
    if (this.#holding.size >= LARGEST_HOLD) {
      this.#report.holdLimit(LARGEST_HOLD, held);
      return this.#settle(held, verdict, cause);
    }
    const { deadlines } = this.#env;
    held.state = "holding";
    this.#holding.add(held);
    held.afterHold = (): void => {
      this.#holding.delete(held);
      deadlines.remove(held.deadline);
      held.afterHold = undefined;
      this.#settle(held, verdict, cause);
      this.#wake();
    };
    held.deadline = deadlines.add(holdMs, held.afterHold);
  }

  #settle(held: Held, verdict: Verdict, cause: SettleCause): void {
    // Anew: a listener was told how it went, a hold may have gone by.
    const nowMs = this.#env.clock.elapsed();
    if (held.lease?.over(nowMs)) {
      // After its end another worker may have the message: a settle could hit that one's delivery.
      this.#leave(held);
      return this.#report.leaseLost(held);
    }
    const { deadlines } = this.#env;
    held.lease?.stop();
    held.state = "settling";
    this.#settling++;
    let open = true;
    /** Whether this is the first end of the settle. */
    const ended = (): boolean => {
      if (!open) return false;
      open = false;
      this.#settling--;
      deadlines.remove(patience);
      return true;
    };
    const patience = deadlines.at(nowMs + SETTLE_PATIENCE_MS, () => {
      ended();
      this.#report.settleFailed(held, new Error(`no answer within ${SETTLE_PATIENCE_MS} ms`));
      this.#leave(held);
      this.#wake();
    });
    const failed = (error: unknown): void => {
      if (!ended()) return;
      if (codeOf(error) === "settle_write_failed" && cause !== "write_failed") {
        return this.#writeFailed(held, error as SettleWriteError);
      }
      this.#report.settleFailed(held, error);
      this.#leave(held);
      this.#wake();
    };
    issue(() => held.subscription.settle(held.delivery, verdict)).then((result) => {
      if (result !== "settled" && result !== "expired") {
        return failed(new Error(`the transport answered ${messageOf(result)}`));
      }
      if (!ended()) return;
      this.#report.answered(held, verdict, cause, result);
      this.#leave(held);
      this.#wake();
    }, failed);
  }

  /** The original stays, and the broker's own way of keeping it is asked for. Contract: G36. */
  #writeFailed(held: Held, error: SettleWriteError): void {
    this.#report.writeFailed(held, error);
    if (held.lost || held.state === "gone") {
      this.#leave(held);
      this.#report.leaseLost(held);
      return this.#wake();
    }
    held.lease?.start(this.#env.clock.elapsed());
    this.#conclude(held, { kind: "writeFailed" });
    this.#wake();
  }

  #leave(held: Held): void {
    held.lease?.stop();
    this.#env.deadlines.remove(held.deadline);
    this.#holding.delete(held);
    this.#inHand.delete(held.delivery);
    held.state = "gone";
  }
}

/** A handler's own cap stands in for the worker's. */
function withCap(options: ResolvedOptions, maxAttempts: number | undefined): ResolvedOptions {
  return maxAttempts === undefined ? options : { ...options, maxAttempts };
}

function stopped(): Error {
  return new BabelQueueError("shutdown", "The worker stopped before the handler ended");
}

function causeOf(outcome: Outcome): SettleCause {
  switch (outcome.kind) {
    case "unknownUrn":
      return "unknown_urn";
    case "writeFailed":
      return "write_failed";
    default:
      return outcome.kind;
  }
}

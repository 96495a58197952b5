import { type Moment, momentOf } from "../core/clock.ts";
import { asError } from "../core/thrown.ts";
import { ConnectionError } from "../core/errors.ts";
import { deliveriesOf, subscriptionOf } from "./_answers.ts";
import { isFinal } from "./_final.ts";
import { backOffMs, bounded, pause } from "./_waits.ts";
import { type Deadline, Deadlines } from "./_deadlines.ts";
import { Held } from "./_held.ts";
import { LeaseKeeper } from "./lease.ts";
import { planShutdown, type ShutdownPlan } from "./shutdown.ts";
import type { QueueHealth } from "./health.ts";
import { Desk, type DeskEnvironment } from "./desk.ts";
import type { Connection } from "./connection.ts";
import type { Delivery, Subscription } from "./transport.ts";

/** Grace of a receive beyond its own wait before its lane is taken for hung, in milliseconds. */
const RECEIVE_GRACE_MS = 30_000;

/** Shortest round of a receive that brings nothing, in milliseconds, whatever its own wait. */
const SHORTEST_ROUND_MS = 10;

/** Shorter rounds in a row that do no harm: another worker was faster, a connection ended. */
const FREE_ROUNDS = 3;

/** Longest wait for a subscribe, in milliseconds. */
const SUBSCRIBE_PATIENCE_MS = 30_000;

/** Longest wait for a subscription to close when nothing else bounds it, in milliseconds. */
const CLOSE_PATIENCE_MS = 1_000;

/** What one worker works on. */
export interface WorkerOptions {
  readonly queue: string;
  readonly concurrency: number;
  readonly waitMs: number;
  /** Ends at the first empty receive. */
  readonly untilEmpty?: boolean;
  /** Most messages to take. */
  readonly maxMessages?: number;
}

/** What a worker shares with its App. */
export interface WorkerEnvironment extends Omit<DeskEnvironment, "deadlines"> {
  readonly connection: Connection;
}

/**
 * One queue's intake: subscribes, receives for the free handler slots, backs off while the transport
 * is in trouble, and ends in order. What happens to a message is the {@linkcode Desk}'s business.
 */
export class Worker {
  readonly #env: WorkerEnvironment;
  readonly #options: WorkerOptions;
  readonly #intake: AbortController = new AbortController();
  /** Aborted when nothing is left to be done. */
  readonly #finished: AbortController = new AbortController();
  /** Aborted when the time for stopping is over. */
  readonly #hardEnd: AbortController = new AbortController();
  readonly #deadlines: Deadlines;
  readonly #desk: Desk;
  readonly #ended: Promise<void>;
  readonly #end: { resolve: () => void; reject: (error: Error) => void };
  #subscription: Subscription | undefined;
  #plan: ShutdownPlan | undefined;
  #planned: Deadline[] = [];
  #receives = 0;
  #promised = 0;
  #taken = 0;
  #failures = 0;
  /** Back-offs under way; two lanes can fail one after the other. */
  #backOffs = 0;
  /** Rounds in a row that were too short. */
  #shortRounds = 0;
  /** Pauses after them under way. */
  #rests = 0;
  #woken = false;
  #over = false;
  #lastPollAtMs: number | null = null;
  #lastError: Error | null = null;
  #fatal: Error | undefined;
  #onFatal: (() => void) | undefined;

  constructor(env: WorkerEnvironment, options: WorkerOptions) {
    this.#env = env;
    this.#options = options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A fatal error may come before anybody waits.
    promise.catch(() => {});
    this.#ended = promise;
    this.#end = { resolve, reject };
    this.#deadlines = new Deadlines(env.clock);
    const desk = { ...env, deadlines: this.#deadlines };
    this.#desk = new Desk(desk, options.concurrency, () => this.#wake());
  }

  /** The queue it works on. */
  get queue(): string {
    return this.#options.queue;
  }

  /** What became of the messages so far. */
  get counts(): Desk["counts"] {
    return this.#desk.counts;
  }

  /**
   * Works until stopped, or until the queue is empty where that was asked for.
   *
   * @param onFatal Called as soon as a fatal error ends the work, before what is in flight is settled.
   * @throws {Error} what the transport called fatal.
   */
  async run(onFatal: () => void): Promise<void> {
    this.#onFatal = onFatal;
    try {
      await this.#subscribe();
      if (this.#subscription && !this.#intake.signal.aborted) this.#pump();
      else this.#over = true;
      this.#settleUp();
      await this.#ended;
    } finally {
      this.#over = true;
      this.#desk.close();
      await this.#closeSubscription();
      this.#deadlines.close();
    }
  }

  /** Ends intake. Handlers that run past their share of the time-out lose their message back to the queue. */
  stop(timeoutMs: number): void {
    this.#endIntake(false);
    const nowMs = this.#env.clock.elapsed();
    const plan = planShutdown(nowMs, timeoutMs, this.#plan);
    this.#plan = plan;
    for (const deadline of this.#planned) this.#deadlines.remove(deadline);
    const giveBack = (): void => this.#desk.giveBackAll();
    if (plan.handlersUntilMs <= nowMs) giveBack();
    this.#planned = [
      this.#deadlines.at(plan.handlersUntilMs, giveBack),
      this.#deadlines.at(plan.endsAtMs, () => this.#overrun()),
    ];
    this.#settleUp();
  }

  /** How it is doing. */
  health(): QueueHealth {
    return {
      queue: this.#options.queue,
      state: this.#intake.signal.aborted
        ? "stopping"
        : this.#backOffs > 0 || this.#rests > 0
        ? "backing_off"
        : this.#subscription
        ? "working"
        : "subscribing",
      lastPollAtMs: this.#lastPollAtMs,
      lastError: this.#lastError,
      ...this.#desk.load,
    };
  }

  async #subscribe(): Promise<void> {
    const { transport, connection, options } = this.#env;
    const { queue, concurrency } = this.#options;
    const intake = this.#intake.signal;
    while (!intake.aborted) {
      try {
        await connection.ready(intake);
        this.#subscription = await this.#patiently(() =>
          transport.subscribe(queue, {
            prefetch: options.prefetch ?? concurrency,
            intake,
            lost: (delivery, cause) => this.#desk.lost(delivery, cause),
          })
        );
        this.#failures = 0;
        return;
      } catch (error) {
        if (intake.aborted) return;
        await this.#backOff(error);
      }
    }
  }

  /** A subscribe that hangs counts as failed; what it brings later is closed. */
  async #patiently(subscribe: () => Promise<Subscription>): Promise<Subscription> {
    const bounds = {
      deadlines: this.#deadlines,
      ms: SUBSCRIBE_PATIENCE_MS,
      signals: [this.#finished.signal],
    };
    const late = (): Error =>
      new ConnectionError(`Cannot subscribe to '${this.queue}': no answer in time`);
    let used = true;
    return await bounded(bounds, async () => {
      const subscription = subscriptionOf(await subscribe(), this.queue);
      if (!used) await subscription.close();
      return subscription;
    }, late).catch((error) => {
      used = false;
      throw error;
    });
  }

  /**
   * Pumps once for all that ends in this turn: a batch's handlers end one promise job after another,
   * and one receive for all their slots is worth more than a receive for the first.
   */
  #wake(): void {
    if (this.#woken) return;
    this.#woken = true;
    queueMicrotask(() => {
      this.#woken = false;
      this.#pump();
    });
  }

  /** @param atMs Now, in milliseconds of `Clock.elapsed`, where it is known. */
  #pump(atMs?: number): void {
    const subscription = this.#subscription;
    if (subscription === undefined || this.#over) return;
    this.#desk.startReady(atMs);
    const intake = this.#intake.signal;
    while (!intake.aborted && this.#backOffs === 0 && this.#receives < subscription.lanes) {
      if (this.#rests > 0) break;
      const budget = (this.#options.maxMessages ?? Infinity) - this.#taken;
      const free = Math.min(this.#desk.free, budget) - this.#promised;
      if (free <= 0) break;
      const nowMs = this.#env.clock.elapsed();
      const turn = this.#env.connection.breath.take(nowMs);
      if (turn) {
        void turn.then(() => this.#pump());
        break;
      }
      // The free slots are shared among the idle lanes, so that no lane takes all of them.
      const max = Math.ceil(free / (subscription.lanes - this.#receives));
      this.#receive(subscription, max, nowMs);
    }
    this.#settleUp();
  }

  #receive(subscription: Subscription, max: number, askedAtMs: number): void {
    const { clock } = this.#env;
    const { waitMs } = this.#options;
    const deadlines = this.#deadlines;
    this.#receives++;
    this.#promised += max;
    let outstanding = true;
    const ended = (): void => {
      if (!outstanding) return;
      outstanding = false;
      this.#receives--;
      this.#promised -= max;
      deadlines.remove(watchdog);
    };
    const failed = (error: unknown): void => {
      const counted = outstanding;
      ended();
      if (counted) void this.#backOff(error).then(() => this.#pump());
    };
    const watchdog = deadlines.at(askedAtMs + waitMs + RECEIVE_GRACE_MS, () => {
      failed(new ConnectionError(`Cannot receive from '${this.queue}': no answer in time`));
    });
    let answer: Promise<readonly Delivery[]>;
    try {
      answer = Promise.resolve(subscription.receive(max, waitMs));
    } catch (error) {
      // Before the other lane is asked.
      return failed(error);
    }
    answer.then((given) => {
      const { deliveries, flaw } = deliveriesOf(given, this.queue);
      const at = momentOf(clock);
      this.#lastPollAtMs = at.nowMs;
      if (flaw) {
        failed(flaw);
        if (deliveries.length === 0) return;
      } else {
        ended();
        this.#failures = 0;
        if (deliveries.length === 0) this.#rest(at.elapsedMs - askedAtMs);
        else this.#shortRounds = 0;
      }
      this.#take(subscription, deliveries, at);
    }, failed);
  }

  /** A transport that answers with nothing at once, again and again, must not keep the worker busy. */
  #rest(tookMs: number): void {
    const restMs = SHORTEST_ROUND_MS - tookMs;
    if (restMs <= 0) this.#shortRounds = 0;
    else if (++this.#shortRounds > FREE_ROUNDS) {
      this.#rests++;
      void pause(this.#env.clock, restMs, this.#intake.signal).then(() => {
        this.#rests--;
        this.#pump();
      });
    }
  }

  #take(subscription: Subscription, deliveries: readonly Delivery[], at: Moment): void {
    const { clock } = this.#env;
    if (this.#over) {
      for (const delivery of deliveries) this.#desk.giveBackLate(delivery, subscription);
      return;
    }
    this.#taken += deliveries.length;
    let nowMs: number | undefined = at.elapsedMs;
    for (const delivery of deliveries) {
      const held = new Held(delivery, subscription);
      held.lease = new LeaseKeeper(delivery, subscription, clock, this.#deadlines, at, (error) => {
        this.#desk.leaseLost(held, error);
      });
      if (!this.#desk.admit(held)) nowMs = undefined;
    }
    const { untilEmpty, maxMessages = Infinity } = this.#options;
    if ((untilEmpty && deliveries.length === 0) || this.#taken >= maxMessages) {
      this.#endIntake(true);
      nowMs = undefined;
    }
    this.#pump(nowMs);
  }

  #endIntake(finishReady: boolean): void {
    if (!this.#intake.signal.aborted) this.#intake.abort();
    else if (finishReady) return;
    this.#desk.endIntake(finishReady);
    this.#settleUp();
  }

  async #backOff(error: unknown): Promise<void> {
    const { hub, options, clock } = this.#env;
    const cause = asError(error);
    this.#lastError = cause;
    if (isFinal(cause)) {
      this.#fatal = cause;
      this.#onFatal?.();
      return this.stop(options.shutdownTimeoutMs);
    }
    if (this.#intake.signal.aborted) return this.#settleUp();
    const waitMs = backOffMs(++this.#failures, options.random());
    hub.emit({
      level: "warn",
      type: "receiveFailed",
      queue: this.queue,
      error: cause,
      backOffMs: waitMs,
    });
    this.#backOffs++;
    await pause(clock, waitMs, this.#intake.signal);
    this.#backOffs--;
  }

  /** Ends the run once intake has ended and nothing is in hand. */
  #settleUp(): void {
    if (!this.#intake.signal.aborted || !this.#desk.idle) return;
    if (this.#receives > 0 && !this.#over) return;
    this.#finish();
  }

  #finish(): void {
    this.#finished.abort();
    if (this.#fatal) this.#end.reject(this.#fatal);
    else this.#end.resolve();
  }

  #overrun(): void {
    this.#hardEnd.abort();
    if (this.#over) return;
    const { inFlight, held, settling } = this.#desk.load;
    this.#over = true;
    this.#env.hub.emit({
      level: "error",
      type: "shutdownTimedOut",
      unfinished: inFlight + held + settling,
    });
    this.#finish();
  }

  async #closeSubscription(): Promise<void> {
    if (this.#subscription === undefined) return;
    const bounds = {
      deadlines: this.#deadlines,
      ms: this.#plan ? Infinity : CLOSE_PATIENCE_MS,
      signals: [this.#hardEnd.signal],
    };
    const late = (): Error => new ConnectionError(`Cannot end '${this.queue}': no answer in time`);
    const subscription = this.#subscription;
    try {
      await bounded(bounds, (signal) => subscription.close({ signal }), late);
    } catch (error) {
      this.#lastError = asError(error);
      const message = `the subscription of '${this.queue}' did not end: ${this.#lastError.message}`;
      this.#env.hub.emit({ level: "warn", type: "warning", code: "transport", message });
    }
  }
}

import { type Clock, ConnectionError, SettleWriteError } from "@bq/core/transport";
import { connectionError, isTransient, UnsentError } from "./_errors.ts";
import type { QueueLayout, Reserved, SettlePart, WorkCall } from "./_layout.ts";
import type { Link } from "./_link.ts";
import { afterThisTick } from "./_microtask.ts";
import { readWork, type WorkReply } from "./_reply.ts";
import { Turns } from "./_turns.ts";

/** Most settles of one call. */
const LARGEST_SETTLE = 256;
/** Wait before something is sent again, in milliseconds. */
const AGAIN_MS = 50;

/** A settle on its way. */
interface Settle {
  readonly part: SettlePart;
  /** By `Clock.elapsed`: after that another worker may have the message, so nothing is sent again. */
  readonly untilMs: number;
  /** Whether an earlier try may have reached the server. */
  uncertain: boolean;
  resolve(result: "settled" | "expired"): void;
  reject(error: Error): void;
}

/** A receive that wants jobs. */
interface Demand {
  readonly max: number;
  resolve(jobs: Reserved[]): void;
  reject(error: Error): void;
}

/** What the calls of one subscription need. */
export interface CallsSetup {
  readonly queue: string;
  readonly layout: QueueLayout;
  readonly link: Link;
  readonly clock: Clock;
}

/**
 * Joins what is issued in one tick: the settles travel with the first reserve, and by themselves when
 * nothing is received.
 */
export class Calls {
  readonly #setup: CallsSetup;
  readonly #unsettled: Set<Settle> = new Set();
  readonly #demanding: Set<Demand> = new Set();
  readonly #ending: AbortController = new AbortController();
  readonly #turns: Turns = new Turns();
  #settles: Settle[] = [];
  #demands: Demand[] = [];
  #collecting = false;
  #idle: (() => void)[] = [];

  /** @param setup What it works with. */
  constructor(setup: CallsSetup) {
    this.#setup = setup;
  }

  /** Aborted once everything is called off. */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Sends a settle with the next call.
   *
   * @throws {SettleWriteError} when what it writes cannot be written.
   */
  settle(part: SettlePart, untilMs: number): Promise<"settled" | "expired"> {
    const { promise, resolve, reject } = Promise.withResolvers<"settled" | "expired">();
    const settle: Settle = { part, untilMs, uncertain: false, resolve, reject };
    this.#unsettled.add(settle);
    this.#settles.push(settle);
    this.#collect();
    return promise;
  }

  /** Reserves up to `max` jobs; with 0 only what is due comes back to the queue. */
  reserve(max: number): Promise<Reserved[]> {
    const { promise, resolve, reject } = Promise.withResolvers<Reserved[]>();
    const demand: Demand = { max, resolve, reject };
    this.#demanding.add(demand);
    this.#demands.push(demand);
    this.#collect();
    return promise;
  }

  /** Resolves when nothing is on its way any more. */
  async drained(): Promise<void> {
    while (this.#unsettled.size + this.#demanding.size > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  /** Calls off everything that is still on its way. */
  end(error: Error): void {
    this.#ending.abort();
    for (const settle of this.#unsettled) settle.reject(error);
    for (const demand of this.#demanding) demand.reject(error);
    this.#unsettled.clear();
    this.#demanding.clear();
    this.#settles = [];
    this.#demands = [];
    this.#wake();
  }

  #collect(): void {
    if (this.#collecting) return;
    this.#collecting = true;
    afterThisTick(() => this.#send());
  }

  #send(): void {
    this.#collecting = false;
    const settles = this.#settles;
    const demands = this.#demands;
    this.#settles = [];
    this.#demands = [];
    let at = 0;
    for (let i = 0; i < demands.length || at < settles.length; i++) {
      void this.#call(settles.slice(at, at + LARGEST_SETTLE), demands[i]);
      at += LARGEST_SETTLE;
    }
  }

  async #call(settles: Settle[], demand: Demand | undefined): Promise<void> {
    const { layout, link, clock, queue } = this.#setup;
    let call: WorkCall;
    let reply: WorkReply;
    try {
      call = layout.work(demand?.max ?? -1, settles.map(({ part }) => part), clock.now());
      reply = readWork(await link.run(call));
    } catch (error) {
      if (demand) this.#refuse(demand, connectionError(`receive from '${queue}'`, error));
      if (settles.length > 0) await this.#failed(settles, error);
      return;
    }
    let failures = 0;
    settles.forEach((settle, at) => {
      const failed = reply.settles[at] === "e";
      this.#answer(settle, failed ? reply.errors[failures++] ?? "" : reply.settles[at] === "1");
    });
    if (demand === undefined) return this.#wake();
    if (reply.problem !== "") {
      const error = connectionError(`receive from '${queue}'`, new Error(reply.problem));
      return this.#refuse(demand, error);
    }
    const jobs = call.reserved(reply.bodies, reply.kinds);
    if (jobs.length > 0) await this.#turns.next(this.#demanding.size > 1);
    if (!this.#demanding.delete(demand)) return this.giveBack(jobs);
    demand.resolve(jobs);
    this.#wake();
  }

  /** Nobody waits for these any more, and without a deadline they would stay reserved for ever. */
  async giveBack(jobs: readonly Reserved[]): Promise<void> {
    const { layout, link, clock } = this.#setup;
    const nowMs = clock.now();
    const settles = jobs.filter(({ delivery }) => !delivery.undecodable)
      .map((job) => layout.settle(job, { kind: "return" }, nowMs));
    if (settles.length > 0) await link.run(layout.work(-1, settles, nowMs)).catch(() => {});
  }

  #refuse(demand: Demand, error: Error): void {
    this.#demanding.delete(demand);
    demand.reject(error);
    this.#wake();
  }

  /** `done`, or the text of what went wrong. */
  #answer(settle: Settle, done: boolean | string): void {
    if (!this.#unsettled.delete(settle)) return;
    if (typeof done === "string") settle.reject(this.#writeError(settle, done));
    // Nobody else can have it before its lease ends, so it was the try whose answer was lost.
    else settle.resolve(done || settle.uncertain ? "settled" : "expired");
  }

  #writeError({ part }: Settle, text: string): Error {
    const { queue } = this.#setup;
    return part.kind === "a"
      ? connectionError(`acknowledge a message of '${queue}'`, new Error(text))
      : new SettleWriteError(`Cannot put a message back into '${queue}': ${text}`);
  }

  /** A settle may be sent again: every one is gated by its reservation. */
  async #failed(settles: readonly Settle[], error: unknown): Promise<void> {
    const { link, clock, queue } = this.#setup;
    const again = isTransient(error) && !(error instanceof ConnectionError && error.fatal);
    if (again) {
      if (!(error instanceof UnsentError)) {
        for (const settle of settles) settle.uncertain = true;
      }
      await clock.sleep(AGAIN_MS, this.ended);
      await link.ready(this.ended);
    }
    for (const settle of settles) {
      if (!this.#unsettled.has(settle)) continue;
      if (again && clock.elapsed() < settle.untilMs) this.#settles.push(settle);
      else {
        this.#unsettled.delete(settle);
        settle.reject(connectionError(`settle a message of '${queue}'`, error));
      }
    }
    if (this.#settles.length > 0) this.#collect();
    this.#wake();
  }

  #wake(): void {
    if (this.#unsettled.size + this.#demanding.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

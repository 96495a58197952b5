import { BabelQueue } from "../../runtime/app.ts";
import type { BabelQueueEvent } from "../../runtime/events.ts";
import type { BabelQueueOptions } from "../../runtime/options.ts";
import { closedClean, countsTold, ended } from "./_audit.ts";
import { Calls, type OpenCall } from "./_calls.ts";
import { handle } from "./_handler.ts";
import { CountedAbort } from "./_listeners.ts";
import { KNOWN_URNS } from "./_message.ts";
import { Publisher } from "./_publisher.ts";
import { ProcessClock } from "./_time.ts";
import { SimTransport } from "./_transport.ts";
import type { Host, World } from "./_world.ts";

/** A `run` or `consume` that goes on. */
export interface Run {
  readonly call: OpenCall;
  readonly queues: readonly string[];
  readonly sinceMs: number;
  readonly sinceStep: number;
  readonly maxMessages: number;
  /** Whether it has a signal to force it. */
  readonly forcible: boolean;
}

/** One process: an App over its own connection, under its own clock. It can be killed. */
export class Process implements Host {
  readonly name: string;
  readonly world: World;
  readonly options: BabelQueueOptions;
  readonly clock: ProcessClock;
  readonly transport: SimTransport;
  readonly app: BabelQueue;
  readonly calls: Calls;
  readonly publisher: Publisher;
  readonly runs: Set<Run> = new Set();
  readonly signals: CountedAbort[] = [];
  readonly events: Map<string, number> = new Map();
  readonly stopBoundMs: number;
  /** Messages that shutdowns reported as unfinished. */
  unfinished = 0;
  alive = true;
  closed = false;
  /** Whether nobody asked it to stop. */
  wanted = true;

  constructor(world: World, name: string, options: BabelQueueOptions, urns: readonly string[]) {
    this.name = name;
    this.world = world;
    this.options = options;
    const { time, chance, plan } = world;
    this.clock = new ProcessClock(
      time,
      chance.between(-5_000, 5_000),
      () => plan.lagMs === 0 ? 0 : chance.between(0, plan.lagMs),
    );
    this.transport = new SimTransport(this);
    this.calls = new Calls(world, name);
    this.publisher = new Publisher(this);
    this.stopBoundMs = Math.max(1_000, options.shutdownTimeoutMs ?? 30_000);
    this.app = new BabelQueue(this.transport, {
      ...options,
      clock: this.clock,
      random: () => chance.next(),
      onEvent: (event) => this.#note(event),
    });
    const { handlerTimeoutMs = 1_800_000 } = options;
    for (const urn of urns) {
      const timeoutMs = urn === KNOWN_URNS[1] ? plan.handlerTimeoutMs : handlerTimeoutMs;
      this.app.handle(urn, (data, ctx) => handle(this, data, ctx, timeoutMs), { timeoutMs });
    }
  }

  get wallMs(): number {
    return this.clock.now();
  }

  /** Opens the connection early, and reads the events to their end. */
  begin(): void {
    const { chance } = this.world;
    if (chance.hits(0.2)) this.calls.follow("connect()", this.app.connect(), 30_000);
    if (!chance.hits(0.2)) return;
    const read = async (): Promise<void> => {
      for await (const _ of this.app.events());
    };
    this.calls.follow("events()", read(), null);
  }

  /** Works on the queues, by `run` or, at times, by `consume`. */
  work(drain = false): void {
    if (!this.alive || !this.wanted) return;
    const { chance, plan, time } = this.world;
    const stop = new CountedAbort();
    const force = new CountedAbort();
    this.signals.push(stop, force);
    const once = !drain && plan.queues.length === 1 && chance.hits(0.25);
    const maxMessages = once && chance.hits(0.5) ? chance.between(1, 6) : Infinity;
    const first = this.signals.length === 2;
    if (!drain && chance.hits(0.02)) stop.abort();
    const promise: Promise<unknown> = once
      ? this.app.consume({
        waitMs: chance.pick([1, 200, 2_000]),
        signal: stop.signal,
        ...(maxMessages < Infinity ? { maxMessages } : {}),
      }).then((counts) => {
        // Later ones follow others, whose last events may come among their own.
        if (first && this.alive) countsTold(this, counts);
      })
      : this.app.run({ queues: plan.queues, signal: stop.signal, forceSignal: force.signal });
    const label = once ? `consume(${maxMessages})` : "run()";
    const call = this.calls.follow(label, promise, null, () => {
      this.runs.delete(run);
      ended(this, run);
      if (this.wanted && !drain) time.at(chance.pick([0, 100, 2_000]), () => this.work());
    });
    const run: Run = {
      call,
      queues: plan.queues,
      sinceMs: time.nowMs,
      sinceStep: time.steps,
      maxMessages,
      forcible: !once,
    };
    this.runs.add(run);
  }

  /** A fatal error: the run that met it ends in order. */
  fatal(step: number): void {
    for (const { call, sinceStep } of this.runs) {
      if (sinceStep <= step) this.calls.limit(call, this.stopBoundMs);
    }
  }

  /** `stop()`, and its bound on every run. */
  async stop(): Promise<void> {
    this.#limitRuns();
    const promise = this.app.stop();
    this.calls.follow("stop()", promise, this.stopBoundMs);
    await promise;
  }

  /** Aborts the signals of the runs: the first asks, the second forces. */
  signal(forced: boolean): void {
    this.wanted = false;
    for (const { call, forcible } of this.runs) {
      if (!forced) this.calls.limit(call, this.stopBoundMs);
      else if (forcible) this.calls.limit(call, 1_000);
    }
    this.world.log.step(this.name, forced ? "is forced to stop" : "is asked to stop");
    this.signals.forEach((signal, i) => {
      if ((i % 2 === 1) === forced) signal.abort();
    });
  }

  async close(): Promise<void> {
    this.wanted = false;
    this.#limitRuns();
    const promise = this.app.close();
    this.calls.follow("close()", promise, this.stopBoundMs, () => {
      if (this.closed) return;
      this.closed = true;
      this.world.time.at(0, () => closedClean(this));
      // The process ends, and the connection with it.
      this.world.time.at(100, () => this.transport.end(new Error("the process ended")));
    });
    await promise;
  }

  /** The process dies: no call is answered, no timer fires, the broker finds out by itself. */
  kill(): void {
    if (!this.alive || this.closed) return;
    const { time, chance, log } = this.world;
    log.step(this.name, "is killed");
    this.alive = false;
    this.wanted = false;
    this.clock.freeze();
    this.calls.forget();
    this.transport.line.cut(new Error("killed"));
    time.at(chance.pick([0, 50, 3_000]), () => this.transport.end(new Error("killed")));
  }

  /** A wait of the user's own code. */
  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        if (this.alive) resolve();
      };
      this.world.time.at(ms, end);
      signal?.addEventListener("abort", end, { once: true });
    });
  }

  #limitRuns(): void {
    for (const run of this.runs) this.calls.limit(run.call, this.stopBoundMs);
  }

  #note(event: BabelQueueEvent): void {
    if (!this.alive) return;
    this.world.log.seen.add(`event ${event.type}`);
    this.events.set(event.type, (this.events.get(event.type) ?? 0) + 1);
    if (event.type === "shutdownTimedOut") this.unfinished += event.unfinished;
    const about = "messageId" in event ? ` attempt ${event.attempt}` : "";
    this.world.log.step(this.name, `event ${event.type}${about}`);
  }
}

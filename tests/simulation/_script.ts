import type { Fault } from "./_faults.ts";
import type { MessageKind } from "./_message.ts";
import { KNOWN_URNS, UNKNOWN_URN } from "./_message.ts";
import { Process } from "./_process.ts";
import type { World } from "./_world.ts";

const KINDS: readonly MessageKind[] = ["foreign", "bare", "unknown", "poison", "gated"];

/** How far a wall clock is set, in milliseconds. */
const JUMPS_MS: readonly number[] = [-3_600_000, -5_000, -100, 100, 5_000, 3_600_000];

/** Everybody who takes part in a history, and what happens to them. */
export class Script {
  readonly #world: World;
  readonly #processes: Process[] = [];
  #closing = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Every process that there ever was. */
  get processes(): readonly Process[] {
    return this.#processes;
  }

  /** Those that live and were not asked to stop. */
  get working(): readonly Process[] {
    return this.#processes.filter((process) =>
      process.alive && process.wanted && process.runs.size > 0
    );
  }

  /** Draws what happens until the horizon. */
  write(): void {
    const { plan, time, chance } = this.#world;
    const source = new Process(this.#world, "pub", plan.options, []);
    this.#processes.push(source);
    for (let i = 0; i < plan.messages; i++) {
      time.at(chance.next() * plan.horizonMs * 0.8, () => {
        if (source.closed) return;
        if (chance.hits(0.1)) source.publisher.many(plan.queues);
        else source.publisher.one(this.#kind(), chance.pick(plan.queues));
      });
    }
    for (let i = 0; i < plan.workers; i++) {
      time.at(chance.hits(0.5) ? 0 : chance.next() * plan.horizonMs * 0.3, () => this.hire());
    }
    this.#often("connection drops", 4, () => this.#drop());
    this.#often("lock lost", 6, () => this.#someone()?.transport.subscriptions.at(-1)?.loseOne());
    this.#often("clock jumps", 3, () => this.#jump(chance.pick(JUMPS_MS)));
    this.#often("process killed", 2, () => {
      this.#someone()?.kill();
      this.#later(() => this.hire());
    });
    this.#often("asked to stop", 2, () => {
      this.#ask();
      this.#later(() => this.hire());
    });
  }

  /** Another worker begins. */
  hire(): void {
    // A handler that blocks can move the time past the moment when this was due.
    if (this.#closing) return;
    const { plan, log } = this.#world;
    const worker = new Process(this.#world, `w${this.#processes.length}`, plan.options, KNOWN_URNS);
    this.#processes.push(worker);
    log.step(worker.name, "begins");
    worker.begin();
    worker.work();
  }

  /** A worker that can settle everything, and to whom nothing happens. */
  hireLast(): Process {
    const { plan } = this.#world;
    const { retry: _, ...options } = plan.options;
    const worker = new Process(this.#world, "last", {
      ...options,
      onUnknownUrn: "fail",
      deadLetter: true,
      deadLetterQueue: "buried",
      concurrency: 4,
      prefetch: 4,
      pollTimeoutMs: 5_000,
      shutdownTimeoutMs: 5_000,
    }, [...KNOWN_URNS, UNKNOWN_URN]);
    this.#processes.push(worker);
    worker.work(true);
    return worker;
  }

  /** Everybody who still lives closes. */
  closeAll(): void {
    this.#closing = true;
    const { chance } = this.#world;
    for (const process of this.#processes) {
      if (!process.alive || process.closed) continue;
      if (chance.hits(0.2)) process.signal(false);
      process.close().catch(() => {});
    }
  }

  #kind(): MessageKind {
    const { chance, plan } = this.#world;
    if (chance.hits(0.7)) return "good";
    const kind = chance.pick(KINDS);
    return kind === "gated" && !plan.broker.gate ? "poison" : kind;
  }

  #someone(): Process | undefined {
    const alive = this.#processes.filter((process) => process.alive && process.runs.size > 0);
    return alive.length === 0 ? undefined : this.#world.chance.pick(alive);
  }

  /** Up to `most` times before the horizon, if this history knows the fault. */
  #often(fault: Fault, most: number, run: () => void): void {
    const { chance, time, plan, faults } = this.#world;
    if (!faults.knows(fault)) return;
    for (let i = chance.between(1, most); i > 0; i--) {
      time.at(chance.next() * plan.horizonMs, () => {
        if (faults.healed) return;
        faults.struck(fault);
        run();
      });
    }
  }

  #later(run: () => void): void {
    const { chance, time, faults } = this.#world;
    time.at(chance.pick([0, 20, 800]), () => {
      if (!faults.healed) run();
    });
  }

  #drop(): void {
    const { chance } = this.#world;
    const alive = this.#processes.filter((process) => process.alive && !process.closed);
    if (alive.length === 0) return;
    const process = chance.pick(alive);
    this.#world.log.step(process.name, "loses its connection");
    process.transport.drop(chance.pick([0, 30, 2_000]));
  }

  #jump(ms: number): void {
    const process = this.#someone();
    if (process === undefined) return;
    this.#world.log.step(process.name, `has its clock set by ${ms} ms`);
    process.clock.jump(ms);
    for (const { handed } of process.transport.subscriptions) {
      for (const one of handed) {
        // The worker has not looked at it yet, and will read its lease by the new time.
        if (one.handedInStep === this.#world.time.steps) one.untilMs -= ms;
      }
    }
  }

  #ask(): void {
    const process = this.#someone();
    if (process === undefined) return;
    const { chance } = this.#world;
    switch (chance.between(0, 4)) {
      case 0:
        return void process.stop().catch(() => {});
      case 1:
        return process.signal(false);
      case 2:
        return process.signal(true);
      case 3:
        process.signal(false);
        this.#later(() => process.signal(true));
        return;
      default:
        return void process.close().catch(() => {});
    }
  }
}

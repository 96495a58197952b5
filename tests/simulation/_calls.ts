import type { World } from "./_world.ts";

/** How much longer than its bound a call is waited for before it counts as endless, in milliseconds. */
const ENDLESS_MS = 10_000;

/** Timers that may have fired late one after the other until a call ends. */
const LATE_TIMERS = 2;

/** A bound on the time until which something has to end. Time in which code did not yield is not counted, nor how late timers fire. */
export class Bound {
  readonly #world: World;
  readonly #blockedMs: number;
  readonly #untilMs: number;

  constructor(world: World, ms: number) {
    this.#world = world;
    this.#blockedMs = world.time.blockedMs;
    this.#untilMs = world.time.nowMs + ms;
  }

  /** Whether the time is over, blocked or not. */
  get reached(): boolean {
    return this.#world.time.nowMs >= this.#untilMs;
  }

  /** How far past the bound it is now. */
  get overMs(): number {
    const { nowMs, blockedMs } = this.#world.time;
    const lateMs = LATE_TIMERS * this.#world.plan.lagMs;
    return nowMs - this.#untilMs - (blockedMs - this.#blockedMs) - lateMs;
  }
}

/** A call of the App's API that was not answered yet. */
export interface OpenCall {
  readonly label: string;
  /** Each that was asked for; the first to be reached counts. */
  readonly bounds: Bound[];
}

/** The calls of one process. Each has to end, and those with a bound in time. */
export class Calls {
  readonly #world: World;
  readonly #name: string;
  readonly #open: Set<OpenCall> = new Set();
  #dead = false;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
  }

  /** What was not answered yet. */
  get open(): readonly OpenCall[] {
    return [...this.#open];
  }

  /** Follows a call to its end. */
  follow<T>(
    label: string,
    promise: Promise<T>,
    ms: number | null,
    ended?: (error: unknown) => void,
  ): OpenCall {
    const call: OpenCall = { label, bounds: [] };
    this.#open.add(call);
    this.#world.log.step(this.#name, label);
    if (ms !== null) this.limit(call, ms);
    const end = (how: string, error: unknown): void => {
      if (this.#dead) return;
      this.#open.delete(call);
      this.#world.log.step(this.#name, `${label} ${how}`);
      const overMs = Math.max(...call.bounds.map((bound) => bound.overMs));
      if (overMs > 0) this.#broken("calls end in time", `${label} took ${overMs} ms too long`);
      ended?.(error);
    };
    promise.then(() => end("resolves", undefined), (error) => {
      end(
        `rejects: ${error instanceof Error ? error.message.replace(/'[^']*'/g, "…") : error}`,
        error,
      );
    });
    return call;
  }

  /** From now on the call has to end within `ms`. */
  limit(call: OpenCall, ms: number): void {
    const bound = new Bound(this.#world, ms);
    call.bounds.push(bound);
    this.#world.time.at(ms + ENDLESS_MS, () => {
      if (this.#dead || !this.#open.has(call)) return;
      if (bound.overMs > 0) this.#broken("calls end", `${call.label} has not ended`);
    });
  }

  /** The process was killed. */
  forget(): void {
    this.#dead = true;
    this.#open.clear();
  }

  #broken(rule: string, detail: string): void {
    this.#world.log.broken(rule, `${this.#name}: ${detail}`);
  }
}

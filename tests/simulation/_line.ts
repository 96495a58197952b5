import { ConnectionError } from "../../core/errors.ts";
import type { Host } from "./_world.ts";
import type { Entry } from "./_time.ts";

/** How a call to the broker goes wrong. */
export interface Fate {
  /** The broker never sees it. */
  readonly before?: Error;
  /** It has its effect, and the answer is an error. */
  readonly after?: Error;
  /** There is no answer, with or without the effect. */
  readonly hangs?: "before" | "after";
  /** How much later the answer comes. */
  readonly lateMs?: number;
  /** Not even the end of the connection brings an answer. */
  readonly deaf?: boolean;
}

interface Call {
  readonly deaf: boolean;
  next: Entry | null;
  reject(error: Error): void;
}

/** How late a late answer is, in milliseconds: within every patience of the worker, or far beyond. */
export const LATE_MS: readonly number[] = [100, 2_000, 12_000, 45_000];

/** The connection of one process to the broker. */
export class Line {
  readonly #host: Host;
  readonly #calls: Set<Call> = new Set();
  up = false;

  constructor(host: Host) {
    this.#host = host;
  }

  /** The time that one way takes now. */
  get wayMs(): number {
    const { chance, plan, faults } = this.#host.world;
    return chance.between(
      0,
      faults.healed ? Math.min(1, plan.broker.latencyMs) : plan.broker.latencyMs,
    );
  }

  /** A call: the way to the broker, its effect, and the way back. */
  ask<T>(effect: () => T, fate: Fate = {}): Promise<T> {
    const { time } = this.#host.world;
    return new Promise((resolve, reject) => {
      const end = (answer: () => void): void => {
        if (!this.#calls.delete(call)) return;
        if (this.#host.alive) answer();
      };
      const call: Call = {
        deaf: fate.deaf ?? false,
        next: null,
        reject: (error) => end(() => reject(error)),
      };
      this.#calls.add(call);
      const sent = this.up;
      const back = (answer: () => void): void => {
        call.next = time.at(this.wayMs + (fate.lateMs ?? 0), () => end(answer));
      };
      call.next = time.at(this.wayMs, () => {
        if (fate.hangs === "before") return;
        const error = sent ? fate.before : new ConnectionError("the connection is down");
        if (error) return back(() => reject(error));
        let result: T;
        try {
          result = effect();
        } catch (error) {
          return back(() => reject(error));
        }
        if (fate.hangs === "after") return;
        const { after } = fate;
        back(() => after ? reject(after) : resolve(result));
      });
    });
  }

  /** Ends every call that is under way; what was sent may have its effect all the same. */
  cut(error: Error): void {
    const { chance, time } = this.#host.world;
    for (const call of [...this.#calls]) {
      if (call.deaf) continue;
      if (call.next && chance.hits(0.5)) time.cancel(call.next);
      call.reject(error);
    }
  }
}

import type { Chance } from "./_chance.ts";
import type { Log } from "./_log.ts";

/** Everything that can go wrong at an await, or between two. */
export const FAULTS = [
  "open throws",
  "open rejects",
  "open fatal",
  "open hangs",
  "subscribe throws",
  "subscribe rejects",
  "subscribe fatal",
  "subscribe hangs",
  "receive throws",
  "receive rejects",
  "receive fatal",
  "receive hangs",
  "receive late",
  "receive repeats",
  "receive gives more",
  "message doubled",
  "settle throws",
  "settle fails before",
  "settle fails after",
  "settle hangs before",
  "settle hangs after",
  "settle late",
  "settle write fails",
  "settle write unsure",
  "extend throws",
  "extend rejects",
  "extend null",
  "extend hangs",
  "extend late",
  "lock lost",
  "publish throws",
  "publish rejects",
  "publish fails",
  "publish uncertain",
  "publish hangs",
  "publish late",
  "subscription close throws",
  "subscription close hangs",
  "subscription close rejects",
  "transport close throws",
  "transport close hangs",
  "transport close rejects",
  "handler throws",
  "handler throws odd",
  "handler gives up",
  "handler postpones",
  "handler hangs",
  "handler slow",
  "handler deaf",
  "handler blocks",
  "handler publishes",
  "handler stops",
  "handler closes",
  "connection drops",
  "process killed",
  "clock jumps",
  "asked to stop",
] as const;

/** One thing that can go wrong. */
export type Fault = typeof FAULTS[number];

/** Stands for a few faults, as often as the rest together. */
const FEW: readonly number[] = [-1, -1, -1, -1];

/** These end a whole run, so they are kept rare: the history goes on without it. */
const ENDING: ReadonlySet<Fault> = new Set<Fault>([
  "open fatal",
  "subscribe fatal",
  "receive fatal",
  "handler closes",
  "handler stops",
]);

/**
 * Which faults a history knows, and how often each strikes. A history with a few faults reaches what
 * one with all of them never does, so each seed draws its own few.
 */
export class Faults {
  readonly #chance: Chance;
  readonly #rates: Map<Fault, number> = new Map();
  readonly #log: Log;
  #healed = false;

  constructor(chance: Chance, log: Log) {
    this.#chance = chance;
    this.#log = log;
    for (const fault of drawFaults(chance)) {
      const rate = chance.pick([0.02, 0.1, 0.3]);
      this.#rates.set(fault, ENDING.has(fault) ? rate / 5 : rate);
    }
  }

  /** The faults of this history. */
  get known(): readonly Fault[] {
    return [...this.#rates.keys()];
  }

  /** Whether this history knows the fault. */
  knows(fault: Fault): boolean {
    return this.#rates.has(fault);
  }

  /** A fault that the script times by itself strikes. */
  struck(fault: Fault): void {
    this.#log.seen.add(`fault ${fault}`);
  }

  /** Whether it strikes now. */
  strikes(fault: Fault): boolean {
    if (this.#healed) return false;
    const rate = this.#rates.get(fault);
    if (rate === undefined || !this.#chance.hits(rate)) return false;
    this.#log.step("fault", fault);
    this.#log.seen.add(`fault ${fault}`);
    return true;
  }

  /** From now on nothing goes wrong. */
  heal(): void {
    this.#healed = true;
  }

  /** Whether nothing goes wrong any more. */
  get healed(): boolean {
    return this.#healed;
  }
}

/** None, a few, or a part of all. */
function drawFaults(chance: Chance): readonly Fault[] {
  const share = chance.pick([0, 0.15, 0.3, 0.6, ...FEW]);
  if (share >= 0) return FAULTS.filter(() => chance.hits(share));
  return Array.from({ length: chance.between(1, 4) }, () => chance.pick(FAULTS));
}

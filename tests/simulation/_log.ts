import type { Time } from "./_time.ts";

/** The trace of a history, and what went against a rule in it. */
export class Log {
  readonly #time: Time;
  readonly #lines: string[] | null;
  readonly violations: string[] = [];
  /** Kinds of things that happened: each fault that struck, each event and each verdict. */
  readonly seen: Set<string> = new Set();

  /** Without `traced` only violations are kept: a trace costs more than the history. */
  constructor(time: Time, traced: boolean) {
    this.#time = time;
    this.#lines = traced ? [] : null;
  }

  /** Whether steps are written down. */
  get traced(): boolean {
    return this.#lines !== null;
  }

  /** The steps so far, one line each. */
  get lines(): readonly string[] {
    return this.#lines ?? [];
  }

  /** Writes one step down: who did what. */
  step(who: string, what: string): void {
    this.#lines?.push(`${this.#stamp()} ${who.padEnd(8)} ${what}`);
  }

  /** A rule was broken. */
  broken(rule: string, detail: string): void {
    const line = `${this.#stamp()} BROKEN   ${rule}: ${detail}`;
    this.violations.push(line);
    this.#lines?.push(line);
  }

  #stamp(): string {
    return `${this.#time.nowMs.toFixed(1).padStart(10)} ms`;
  }
}

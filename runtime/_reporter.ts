import type { Clock } from "../core/clock.ts";
import { asError } from "../core/thrown.ts";
import { describeVersion, gatedRoute } from "../core/gate.ts";
import type { Held, SettleCause } from "./_held.ts";
import type { Outcome } from "./decide.ts";
import type { Counts } from "./desk.ts";
import type { BabelQueueEvent, DropReason, EventHub, WarningCode } from "./events.ts";
import type { Verdict } from "./transport.ts";

/** Most URNs whose once-only warnings are remembered. */
const LARGEST_MEMORY = 10_000;

/** Turns what happens to a delivery into events and counts. */
export class Reporter {
  readonly #hub: EventHub;
  readonly #clock: Clock;
  readonly #counts: Counts;
  readonly #said: Set<string>;

  constructor(hub: EventHub, clock: Clock, counts: Counts, said: Set<string>) {
    this.#hub = hub;
    this.#clock = clock;
    this.#counts = counts;
    this.#said = said;
  }

  outcome(held: Held, outcome: Outcome): void {
    switch (outcome.kind) {
      case "handled":
        this.#counts.handled++;
        if (!this.#hub.listening) return;
        return this.#emit({
          level: "info",
          type: "handled",
          durationMs: this.#durationMs(held),
          ...held.subject(),
        });
      case "failed":
        this.#counts.failed++;
        return this.#emit({
          level: "warn",
          type: "failed",
          error: outcome.error,
          durationMs: this.#durationMs(held),
          ...held.subject(),
        });
      case "unknownUrn":
        return this.#emit({ level: "warn", type: "unknownUrn", ...held.subject() });
      case "poison":
        return this.#emit({
          level: "warn",
          type: "poison",
          cause: outcome.cause,
          ...held.subject(),
        });
      case "gated": {
        const version = describeVersion(outcome.version);
        const route = gatedRoute(version);
        return this.#emit({ level: "warn", type: "gated", version, route, ...held.subject() });
      }
      case "writeFailed":
      case "shutdown":
        return;
    }
  }

  #durationMs(held: Held): number {
    return this.#clock.elapsed() - held.startedAtMs;
  }

  /** How a settle was answered. */
  answered(held: Held, verdict: Verdict, cause: SettleCause, answer: "settled" | "expired"): void {
    if (answer === "expired") this.#emit({ level: "warn", type: "expired", ...held.subject() });
    else this.#settled(held, verdict, cause);
  }

  #settled(held: Held, verdict: Verdict, cause: SettleCause): void {
    switch (verdict.kind) {
      case "ack":
        if (cause === "handled") return;
        this.#counts.dropped++;
        return this.#emit({
          level: "warn",
          type: "dropped",
          reason: cause as DropReason,
          ...held.subject(),
        });
      case "retry":
        this.#counts.retried++;
        return this.#info({ type: "retried", delayMs: verdict.delayMs }, held);
      case "release":
        return this.#info({ type: "released", delayMs: verdict.delayMs }, held);
      case "return":
        if (cause === "shutdown" || cause === "write_failed") {
          return this.#info({ type: "returned", cause }, held);
        }
        return this.#emit({
          level: "warn",
          type: "returned",
          cause: "retry_impossible",
          ...held.subject(),
        });
      case "leave":
        return this.#emit({ level: "warn", type: "left", ...held.subject() });
      case "deadLetter":
        this.#counts.deadLettered++;
        return this.#emit({
          level: "warn",
          type: "deadLettered",
          reason: verdict.reason,
          deadLetterQueue: verdict.queue,
          ...held.subject(),
        });
      case "deadLetterNatively":
        this.#counts.deadLettered++;
        return this.#emit({
          level: "warn",
          type: "deadLettered",
          reason: "native",
          deadLetterQueue: "",
          ...held.subject(),
        });
    }
  }

  leaseLost(held: Held, error?: Error): void {
    this.#emit({
      level: "warn",
      type: "leaseLost",
      ...(error ? { error } : {}),
      ...held.subject(),
    });
  }

  handedOutTwice(held: Held): void {
    this.warn("transport", "a receive handed out the same delivery twice", held);
  }

  lateResult(held: Held): void {
    this.#info({ type: "lateResult" }, held);
  }

  writeFailed(held: Held, error: unknown): void {
    const cause = asError(error);
    this.#emit({ level: "error", type: "writeFailed", error: cause, ...held.subject() });
  }

  settleFailed(held: Held, error: unknown): void {
    const cause = asError(error);
    this.#emit({ level: "error", type: "settleFailed", error: cause, ...held.subject() });
  }

  delayCut(requestedMs: number, held: Held): void {
    const text =
      `a delay of ${requestedMs} ms was cut to what the broker or retry.maxHoldMs allows`;
    this.#once("delay_cut", held.delivery.queue, text, held);
  }

  holdLimit(limit: number, held: Held): void {
    const text = `${limit} messages are held already: a delay was skipped`;
    this.#once("hold_limit", held.delivery.queue, text, held);
  }

  warn = (code: WarningCode, message: string, held: Held): void => {
    this.#emit({ level: "warn", type: "warning", code, message, subject: held.subject() });
  };

  warnOnce = (code: WarningCode, message: string, held: Held): void => {
    this.#once(code, held.urn, message, held);
  };

  #once(code: WarningCode, key: string, message: string, held: Held): void {
    const seen = `${code} ${key}`;
    if (this.#said.has(seen)) return;
    if (this.#said.size < LARGEST_MEMORY) this.#said.add(seen);
    this.warn(code, message, held);
  }

  /** An event that nobody is warned about: not even made while nobody listens. */
  #info(
    event:
      | { type: "retried" | "released"; delayMs: number }
      | { type: "returned"; cause: "shutdown" | "write_failed" }
      | { type: "lateResult" },
    held: Held,
  ): void {
    if (!this.#hub.listening) return;
    this.#emit({ level: "info", ...event, ...held.subject() } as BabelQueueEvent);
  }

  #emit(event: BabelQueueEvent): void {
    this.#hub.emit(event);
  }
}

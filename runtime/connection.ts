import { asError } from "../core/thrown.ts";
import type { Clock } from "../core/clock.ts";
import { BabelQueueError, ConnectionError } from "../core/errors.ts";
import { Breath } from "./_breath.ts";
import { isFinal } from "./_final.ts";
import { abortable, backOffMs, bounded, issue, limit, pause, settledWithin } from "./_waits.ts";
import type { Deadlines } from "./_deadlines.ts";
import type { EventHub } from "./events.ts";
import type { Transport, TransportEvent } from "./transport.ts";

/** Longest wait for one attempt to open, in milliseconds. */
const OPEN_PATIENCE_MS = 30_000;

/** How long `connect` tries, in milliseconds. */
const CONNECT_TIMEOUT_MS = 30_000;

/** Opens a transport once, however many ask for it at a time, and tries again while that can help. */
export class Connection {
  /** Every use of the transport takes it. */
  readonly breath: Breath;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #hub: EventHub;
  readonly #deadlines: Deadlines;
  readonly #closing: AbortController = new AbortController();
  #opening: Promise<void> | null = null;
  /** Every call of `open` without an answer, those that were given up included. */
  readonly #unanswered: Set<Promise<void>> = new Set();
  #opened = false;
  #up = false;

  constructor(
    transport: Transport,
    clock: Clock,
    random: () => number,
    hub: EventHub,
    deadlines: Deadlines,
  ) {
    this.#transport = transport;
    this.#clock = clock;
    this.#random = random;
    this.#hub = hub;
    this.#deadlines = deadlines;
    this.breath = new Breath(clock);
  }

  /** Whether the transport is open and has not reported a loss. */
  get up(): boolean {
    return this.#up;
  }

  /** Whether the transport was opened. */
  get opened(): boolean {
    return this.#opened;
  }

  /** Whether `close` was called. */
  get closed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Aborted by `close`. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * As `ready`, for at most 30 s.
   *
   * @throws {ConnectionError} what the last attempt met; at once when it is fatal.
   */
  async connect(early?: AbortSignal): Promise<void> {
    const { signal, end } = limit({
      deadlines: this.#deadlines,
      ms: CONNECT_TIMEOUT_MS,
      signals: [early],
    });
    await this.ready(signal).finally(end);
  }

  /**
   * Whether it can be used without a wait; where it cannot, `ready` is what to wait for.
   *
   * @param nowMs Now, in milliseconds of `Clock.elapsed`.
   */
  isReady(nowMs: number): boolean {
    return this.#opened && !this.closed && this.breath.take(nowMs) === undefined;
  }

  /**
   * Resolves once the transport is open; tries again, with growing waits, until `signal` is aborted.
   * Whoever asks in a loop lets the event loop turn.
   *
   * @throws {ConnectionError} what the last attempt met; at once when it is fatal.
   */
  async ready(signal: AbortSignal): Promise<void> {
    for (let failures = 1; !this.#opened; failures++) {
      this.refuseClosed();
      let last: Error;
      const waitEnds = AbortSignal.any([signal, this.#closing.signal]);
      try {
        await abortable(this.#attempt(), waitEnds, () =>
          new ConnectionError(
            `Cannot connect to '${this.#transport.name}': no answer before the wait ended`,
          ));
        break;
      } catch (error) {
        last = asError(error);
      }
      this.refuseClosed();
      // An older attempt may have succeeded meanwhile, and this one was refused because of it.
      if (this.#opened) break;
      if (isFinal(last)) throw last;
      if (!signal.aborted) {
        this.#hub.emit({ level: "warn", type: "disconnected", error: last });
        await pause(this.#clock, backOffMs(failures, this.#random()), waitEnds);
      }
      if (signal.aborted) throw last;
    }
    const turn = this.breath.take();
    if (turn) await turn;
    this.refuseClosed();
  }

  /** Ends every wait and disconnects within `leftMs`, at the end of which `signal` is aborted. */
  async close(signal: AbortSignal, leftMs: number): Promise<void> {
    this.#closing.abort();
    this.breath.close();
    // An open that is under way still owns a half-made connection: it ends first.
    if (this.#unanswered.size > 0 && leftMs > 0) {
      await settledWithin(Promise.allSettled(this.#unanswered), leftMs / 2, this.#clock);
    }
    this.#up = false;
    await this.#transport.close({ signal });
  }

  #attempt(): Promise<void> {
    this.#opening ??= this.#open().finally(() => this.#opening = null);
    return this.#opening;
  }

  async #open(): Promise<void> {
    const context = {
      clock: this.#clock,
      random: this.#random,
      bytes: (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length)),
      emit: (event: TransportEvent): void => this.#report(event),
    };
    const bounds = {
      deadlines: this.#deadlines,
      ms: OPEN_PATIENCE_MS,
      signals: [this.#closing.signal],
    };
    await bounded(
      bounds,
      (signal) => this.#adopt(issue(() => this.#transport.open(context, { signal }))),
      () => new ConnectionError(`Cannot connect to '${this.#transport.name}': no answer in time`),
    );
  }

  /** An attempt that was given up and succeeds all the same is as good as the next one. */
  #adopt(opening: Promise<void>): Promise<void> {
    const answered = opening.then(() => {
      if (this.closed) return;
      this.#opened = true;
      this.#report({ type: "connected" });
    }).finally(() => this.#unanswered.delete(answered));
    this.#unanswered.add(answered);
    return answered;
  }

  #report(event: TransportEvent): void {
    if (event.type === "warning") {
      const message = `${event.code}: ${event.message}`;
      return this.#hub.emit({ level: "warn", type: "warning", code: "transport", message });
    }
    const up = event.type === "connected";
    if (up === this.#up) return;
    this.#up = up;
    this.#hub.emit(
      event.type === "connected" ? { level: "info", type: "connected" } : {
        level: this.closed ? "info" : "warn",
        type: "disconnected",
        ...(event.error ? { error: event.error } : {}),
      },
    );
  }

  /** @throws {BabelQueueError} `closed` once `close` was called. */
  refuseClosed(): void {
    if (this.closed) {
      throw new BabelQueueError(
        "closed",
        `Cannot use the connection to '${this.#transport.name}': it is closed`,
      );
    }
  }
}

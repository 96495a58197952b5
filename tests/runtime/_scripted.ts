/**
 * A transport whose every answer a test can write: what a broker does on a bad day and memory never
 * does. Without a script it opens, confirms, hands out what was put and settles.
 *
 * @module
 */

import type {
  Capabilities,
  Delivery,
  Outgoing,
  PublishOutcome,
  SettlementPolicy,
  SignalOptions,
  SubscribeOptions,
  Subscription,
  Transport,
  TransportContext,
  Verdict,
} from "@bq/core";
import { memory } from "@bq/core";
import { B0, bytes } from "./_app.ts";

/** Answers in place of the default ones; `undefined` is the default answer. */
export interface Script {
  open?(context: TransportContext, signal: AbortSignal | undefined): Promise<void> | undefined;
  publish?(
    queue: string,
    messages: readonly Outgoing[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PublishOutcome[]> | undefined;
  subscribe?(queue: string): Promise<void> | undefined;
  receive?(queue: string, max: number): Promise<readonly Delivery[]> | undefined;
  settle?(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> | undefined;
  extend?(delivery: Delivery): Promise<number | null> | undefined;
  endSubscription?(queue: string, signal: AbortSignal | undefined): Promise<void> | undefined;
  close?(signal: AbortSignal | undefined): Promise<void> | undefined;
}

/** How the transport is. */
export interface ScriptedOptions {
  readonly capabilities?: Partial<Capabilities>;
  readonly policy?: Partial<SettlementPolicy>;
  readonly lanes?: number;
  /** Leases of what is put, in milliseconds; without it there are none. */
  readonly leaseMs?: number;
  /** Whether leases can be extended. */
  readonly extends?: boolean;
}

/** Never ends. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}

/** The transport; everything it was asked is kept. */
export class ScriptedTransport implements Transport {
  readonly name: string = "scripted";
  readonly capabilities: Capabilities;
  readonly policy: SettlementPolicy;
  script: Script;
  opens = 0;
  readonly published: { readonly queue: string; readonly messages: readonly Outgoing[] }[] = [];
  readonly receives: { readonly queue: string; readonly max: number; readonly waitMs: number }[] =
    [];
  readonly settled: { readonly delivery: Delivery; readonly verdict: Verdict }[] = [];
  readonly extended: Delivery[] = [];
  readonly subscriptions: SubscribeOptions[] = [];
  /** What was called, in order, for the ends of things. */
  readonly log: string[] = [];
  context: TransportContext | undefined;
  readonly #options: ScriptedOptions;
  readonly #waiting: Map<string, Delivery[]> = new Map();
  readonly #wake: Map<string, () => void> = new Map();

  constructor(script: Script = {}, options: ScriptedOptions = {}) {
    const base = memory();
    this.script = script;
    this.#options = options;
    this.capabilities = { ...base.capabilities, ...options.capabilities };
    this.policy = { ...base.policy, ...options.policy };
  }

  /** Makes a delivery wait on a queue. */
  put(queue: string, body: string = B0, extra: Partial<Delivery> = {}): Delivery {
    const { leaseMs } = this.#options;
    const delivery: Delivery = {
      queue,
      body: bytes(body),
      headers: Object.freeze(Object.create(null)),
      counting: {},
      ...(leaseMs === undefined ? {} : { leaseUntilMs: this.context!.clock.now() + leaseMs }),
      ...extra,
    };
    this.hand(delivery);
    return delivery;
  }

  /** Makes a delivery that exists wait again. */
  hand(delivery: Delivery): void {
    const waiting = this.#waiting.get(delivery.queue) ?? [];
    this.#waiting.set(delivery.queue, waiting);
    waiting.push(delivery);
    this.#wake.get(delivery.queue)?.();
  }

  /** Kinds of the verdicts, in the order of the settles. */
  get verdicts(): string[] {
    return this.settled.map(({ verdict }) => verdict.kind);
  }

  async open(context: TransportContext, options?: SignalOptions): Promise<void> {
    this.opens++;
    this.context = context;
    await this.script.open?.(context, options?.signal);
  }

  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options?: SignalOptions,
  ): Promise<readonly PublishOutcome[]> {
    this.published.push({ queue, messages });
    return await (this.script.publish?.(queue, messages, options?.signal) ??
      messages.map(() => ({ status: "confirmed" as const })));
  }

  async subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    this.log.push(`subscribe ${queue}`);
    this.subscriptions.push(options);
    await this.script.subscribe?.(queue);
    return {
      lanes: this.#options.lanes ?? 1,
      receive: (max, waitMs) => {
        this.receives.push({ queue, max, waitMs });
        return this.script.receive?.(queue, max) ??
          this.#receive(queue, max, waitMs, options.intake);
      },
      settle: (delivery, verdict) => {
        this.settled.push({ delivery, verdict });
        return this.script.settle?.(delivery, verdict) ?? Promise.resolve("settled");
      },
      ...(this.#options.extends === false ? {} : { extend: (delivery) => this.#extend(delivery) }),
      close: async (closing) => {
        await this.script.endSubscription?.(queue, closing?.signal);
        this.log.push(`unsubscribe ${queue}`);
      },
    };
  }

  async close(options?: SignalOptions): Promise<void> {
    await this.script.close?.(options?.signal);
    this.log.push("close");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #receive(
    queue: string,
    max: number,
    waitMs: number,
    intake: AbortSignal,
  ): Promise<readonly Delivery[]> {
    const clock = this.context!.clock;
    if (!this.#waiting.get(queue)?.length && waitMs > 0 && !intake.aborted) {
      const woken = new AbortController();
      const wake = (): void => woken.abort();
      this.#wake.set(queue, wake);
      intake.addEventListener("abort", wake, { once: true });
      await clock.sleep(waitMs, woken.signal);
      intake.removeEventListener("abort", wake);
    }
    return this.#waiting.get(queue)?.splice(0, intake.aborted ? 0 : max) ?? [];
  }

  #extend(delivery: Delivery): Promise<number | null> {
    this.extended.push(delivery);
    const leaseMs = this.#options.leaseMs ?? 30_000;
    return this.script.extend?.(delivery) ??
      Promise.resolve(this.context!.clock.now() + leaseMs);
  }
}

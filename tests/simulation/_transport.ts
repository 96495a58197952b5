import { ConnectionError } from "../../core/errors.ts";
import type { SettlementPolicy } from "../../runtime/policy.ts";
import type {
  Capabilities,
  Outgoing,
  PublishOutcome,
  SignalOptions,
  SubscribeOptions,
  Subscription,
  Transport,
  TransportContext,
} from "../../runtime/transport.ts";
import { stored } from "./_broker.ts";
import type { Handed } from "./_handed.ts";
import { LATE_MS, Line } from "./_line.ts";
import { serialOf } from "./_message.ts";
import { Rules } from "./_rules.ts";
import { SimSubscription } from "./_subscription.ts";
import type { Host } from "./_world.ts";

/** Header of a raw publish that stands for a native schema version this library does not know. */
export const GATE_HEADER = "x-schema-version";

/** The transport of one process. Everything it is asked to do can go wrong. */
export class SimTransport implements Transport {
  readonly name: string = "simulated";
  readonly capabilities: Capabilities;
  readonly policy: SettlementPolicy;
  readonly rules: Rules;
  readonly line: Line;
  readonly subscriptions: SimSubscription[] = [];
  readonly #host: Host;
  #context: TransportContext | undefined;
  #closed = false;

  constructor(host: Host) {
    this.#host = host;
    const { policy, broker } = host.world.plan;
    this.policy = policy;
    this.capabilities = {
      headers: true,
      publishDelay: { kind: "native" },
      order: "none",
      keys: false,
      nativeCount: broker.counting === "floor",
      versionGate: broker.gate,
      leases: broker.leaseMs !== null,
      peek: false,
      size: false,
    };
    this.line = new Line(host);
    this.rules = new Rules(host);
  }

  open(context: TransportContext, options: SignalOptions = {}): Promise<void> {
    const { faults, chance } = this.#host.world;
    this.rules.called("open");
    if (this.#context !== undefined) this.rules.broken("open once", "open was called again");
    if (faults.strikes("open hangs")) {
      return new Promise((_, reject) => {
        if (chance.hits(0.5)) return;
        options.signal?.addEventListener("abort", () => reject(new Error("aborted")), {
          once: true,
        });
      });
    }
    this.line.up = true;
    const fatal = faults.strikes("open fatal");
    const before = fatal || faults.strikes("open rejects")
      ? new ConnectionError("the broker refuses", { fatal })
      : undefined;
    return this.line.ask(() => {}, before ? { before } : {}).then(() => {
      this.#context = context;
    });
  }

  async publish(
    queue: string,
    messages: readonly Outgoing[],
    options: SignalOptions = {},
  ): Promise<readonly PublishOutcome[]> {
    const { faults, chance, broker } = this.#host.world;
    this.rules.called("publish");
    if (faults.strikes("publish rejects")) throw new ConnectionError("nothing was sent");
    if (!this.line.up) throw new ConnectionError("the connection is down");
    if (options.signal?.aborted) throw new Error("called off before anything was sent");
    const error = new Error("the broker did not say");
    const refused = faults.strikes("publish fails");
    const unsure = faults.strikes("publish uncertain");
    const hangs = faults.strikes("publish hangs");
    const fate = {
      deaf: chance.hits(0.3),
      ...(hangs ? { hangs: chance.pick(["before", "after"] as const) } : {}),
      ...(faults.strikes("publish late") ? { lateMs: chance.pick(LATE_MS) } : {}),
    };
    const lost = unsure && chance.hits(0.5);
    const answer = this.line.ask(() => {
      if (refused || lost) return;
      for (const { body, headers, delayMs } of messages) {
        const message = this.#host.world.messages.get(serialOf(body));
        if (message === undefined) continue;
        const gated = headers !== undefined && Object.hasOwn(headers, GATE_HEADER);
        broker.put(stored(message, queue, body.slice(), { gated }), delayMs ?? 0);
      }
    }, fate);
    const outcome = answer.then(
      (): PublishOutcome =>
        refused ? { status: "failed", error } : unsure ? { status: "uncertain", error } : CONFIRMED,
      (cause): PublishOutcome => ({ status: "uncertain", error: cause }),
    );
    const outcomes = Promise.all(messages.map(() => outcome));
    if (fate.deaf || options.signal === undefined) return await outcomes;
    const { signal } = options;
    return await Promise.race([
      outcomes,
      new Promise<PublishOutcome[]>((resolve) => {
        const unsaid = (): void => resolve(messages.map(() => ({ status: "uncertain", error })));
        signal.addEventListener("abort", unsaid, { once: true });
      }),
    ]);
  }

  subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    const { faults } = this.#host.world;
    this.rules.called("subscribe");
    if (faults.strikes("subscribe throws")) throw new ConnectionError("no channel");
    if (faults.strikes("subscribe hangs")) return new Promise(() => {});
    const fatal = faults.strikes("subscribe fatal");
    const before = fatal || faults.strikes("subscribe rejects")
      ? new ConnectionError("no such queue", { fatal })
      : undefined;
    return this.line.ask(() => {
      const subscription = new SimSubscription(this.#host, this, queue, options);
      this.subscriptions.push(subscription);
      return subscription;
    }, before ? { before } : {});
  }

  async close(options: SignalOptions = {}): Promise<void> {
    const { faults, chance } = this.#host.world;
    this.rules.called("close");
    this.#closed = true;
    const hangs = faults.strikes("transport close hangs");
    const rejects = faults.strikes("transport close rejects");
    if (hangs) {
      await new Promise<void>((resolve) => {
        if (chance.hits(0.5)) return;
        options.signal?.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.end(new ConnectionError("the transport is closed"));
    if (rejects) throw new Error("the broker did not say goodbye");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The delivery with these very headers, and where it was received. */
  find(headers: object): readonly [SimSubscription, Handed] {
    for (const subscription of this.subscriptions) {
      for (const handed of subscription.handed) {
        if (handed.delivery.headers === headers) return [subscription, handed];
      }
    }
    throw new Error("a handler got headers that no delivery has");
  }

  /** The connection breaks, and comes back after a while. */
  drop(downMs: number): void {
    const { time } = this.#host.world;
    if (this.#context === undefined || this.#closed || !this.line.up) return;
    const error = new ConnectionError("the connection broke");
    this.line.up = false;
    this.line.cut(error);
    for (const subscription of this.subscriptions) subscription.dropped(error);
    this.#context.emit({ type: "disconnected", error });
    time.at(downMs, () => {
      if (this.#closed || !this.#host.alive) return;
      this.line.up = true;
      this.#context?.emit({ type: "connected" });
    });
  }

  /** The connection ends for good: closed, or its process was killed. */
  end(error: Error): void {
    this.#closed = true;
    this.line.up = false;
    this.line.cut(error);
    for (const subscription of this.subscriptions) subscription.end(error);
  }
}

const CONFIRMED: PublishOutcome = { status: "confirmed" };

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
import type { Handed } from "./_handed.ts";
import { Line } from "./_line.ts";
import { publish } from "./_publish.ts";
import { Rules } from "./_rules.ts";
import { SimSubscription } from "./_subscription.ts";
import type { Host } from "./_world.ts";

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
    if (faults.strikes("open throws")) throw new ConnectionError("no socket");
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

  publish(
    queue: string,
    messages: readonly Outgoing[],
    options: SignalOptions = {},
  ): Promise<readonly PublishOutcome[]> {
    this.rules.called("publish");
    const { faults } = this.#host.world;
    if (faults.strikes("publish throws")) throw new ConnectionError("no channel to publish on");
    return publish(this.#host, this.line, queue, messages, options);
  }

  subscribe(queue: string, options: SubscribeOptions): Promise<Subscription> {
    const { faults, time } = this.#host.world;
    const step = time.steps;
    this.rules.called("subscribe");
    if (faults.strikes("subscribe throws")) throw new ConnectionError("no channel");
    if (faults.strikes("subscribe hangs")) return new Promise(() => {});
    const fatal = faults.strikes("subscribe fatal");
    const before = fatal || faults.strikes("subscribe rejects")
      ? new ConnectionError("no such queue", { fatal })
      : undefined;
    const answer = this.line.ask(() => {
      const subscription = new SimSubscription(this.#host, this, queue, options);
      this.subscriptions.push(subscription);
      return subscription;
    }, before ? { before } : {});
    return answer.catch((error) => {
      if (error instanceof ConnectionError && error.fatal) this.#host.fatal(step);
      throw error;
    });
  }

  close(options: SignalOptions = {}): Promise<void> {
    this.rules.called("close");
    if (this.#host.world.faults.strikes("transport close throws")) throw new Error("no socket");
    return this.#close(options);
  }

  async #close(options: SignalOptions): Promise<void> {
    const { faults, chance } = this.#host.world;
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

import { ConnectionError } from "../../core/errors.ts";
import type {
  Delivery,
  SignalOptions,
  SubscribeOptions,
  Subscription,
  Verdict,
} from "../../runtime/transport.ts";
import type { Owner } from "./_broker.ts";
import { deliver } from "./_deliver.ts";
import type { Handed } from "./_handed.ts";
import { Receive } from "./_receive.ts";
import { extend, settle } from "./_settling.ts";
import type { SimTransport } from "./_transport.ts";
import type { Host } from "./_world.ts";

/** Shortest back-off after a failure, in milliseconds. */
const SHORTEST_BACK_OFF_MS = 50;

/** One queue's deliveries on one connection. */
export class SimSubscription implements Subscription, Owner {
  readonly lanes: number;
  readonly extend?: (delivery: Delivery) => Promise<number | null>;
  readonly host: Host;
  readonly transport: SimTransport;
  readonly queue: string;
  readonly options: SubscribeOptions;
  readonly handed: Handed[] = [];
  readonly receives: Set<Receive> = new Set();
  readonly bornAtMs: number;
  /** When the run ended that it belongs to. */
  endedAtMs: number = Infinity;
  closed: boolean = false;
  /** Until then the worker backs off from a failure in `failedInStep`. */
  quietUntilMs: number = -1;
  failedInStep: number = -1;

  constructor(host: Host, transport: SimTransport, queue: string, options: SubscribeOptions) {
    this.host = host;
    this.transport = transport;
    this.queue = queue;
    this.options = options;
    this.bornAtMs = host.world.time.nowMs;
    const { broker } = host.world.plan;
    this.lanes = broker.lanes;
    if (broker.extend) this.extend = (delivery) => extend(this, this.find(delivery)!);
  }

  receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    const { faults } = this.host.world;
    this.transport.rules.receive(this, max, waitMs);
    if (faults.strikes("receive throws")) {
      this.receiveFailed();
      throw new ConnectionError("no channel to receive on");
    }
    return new Promise((resolve, reject) => {
      this.receives.add(new Receive(this, max, waitMs, { resolve, reject }));
    });
  }

  settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> {
    return settle(this, delivery, verdict);
  }

  close(options: SignalOptions = {}): Promise<void> {
    // A subscription that comes after the end is closed after the end.
    this.host.world.log.step(this.host.name, "calls subscription.close");
    if (this.host.world.faults.strikes("subscription close throws")) throw new Error("no channel");
    return this.#close(options);
  }

  async #close(options: SignalOptions): Promise<void> {
    const { faults, chance } = this.host.world;
    const rejects = faults.strikes("subscription close rejects");
    if (faults.strikes("subscription close hangs")) {
      await new Promise<void>((resolve) => {
        if (chance.hits(0.5)) return;
        options.signal?.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.end(new ConnectionError("the subscription is closed"));
    if (rejects) throw new Error("the broker did not say goodbye");
  }

  /** Hands deliveries to the worker; from here on it answers for them. */
  handOut(batch: readonly Handed[], { max, givenUp }: Receive): readonly Delivery[] {
    const { log, faults, chance, time } = this.host.world;
    const deliveries = batch.map((handed) => handed.delivery);
    for (const [i, handed] of batch.entries()) {
      handed.surplus = givenUp || i >= max;
      handed.handedInStep = time.steps;
      handed.untilMs = (handed.delivery.leaseUntilMs ?? Infinity) - this.host.wallMs + time.nowMs;
      handed.lease.known(handed.untilMs);
      handed.late = time.nowMs >= this.endedAtMs;
      this.handed.push(handed);
    }
    if (batch.length < max && faults.strikes("receive repeats")) {
      const open = this.handed.filter((handed) => handed.held(time.nowMs));
      if (open.length > 0) deliveries.push(chance.pick(open).delivery);
    }
    const what = deliveries.map((delivery) => String(this.find(delivery)));
    log.step(this.host.name, `receive gives [${what.join(", ")}]`);
    return deliveries;
  }

  /** A receive failed: the worker has to leave the broker alone for a moment. */
  receiveFailed(): void {
    const { nowMs, steps } = this.host.world.time;
    if (nowMs < this.quietUntilMs) return;
    this.failedInStep = steps;
    this.quietUntilMs = nowMs + SHORTEST_BACK_OFF_MS;
  }

  leaseEnds(delivery: Delivery): void {
    const handed = this.find(delivery);
    if (handed && this.endedAtMs === Infinity) this.transport.rules.leaseEnds(handed);
  }

  /** The broker takes one message from the worker. */
  loseOne(): void {
    const open = this.handed.filter((handed) => !handed.done && !handed.lost);
    if (open.length === 0) return;
    const { chance } = this.host.world;
    const handed = chance.hits(0.5) ? open.at(-1)! : chance.pick(open);
    const { broker } = this.host.world;
    if (broker.holds(handed.item, handed.delivery)) broker.giveBack(handed.item);
    this.#lose(handed, new Error("the lock is gone"));
  }

  /** The connection broke. */
  dropped(error: Error): void {
    const { broker, chance } = this.host.world;
    for (const receive of [...this.receives]) receive.cut(error);
    const leased = broker.plan.leaseMs !== null;
    if (!leased) broker.giveBackOf(this);
    if (leased && chance.hits(0.5)) return;
    for (const handed of this.handed) if (!handed.done) this.#lose(handed, error);
  }

  /** The end, orderly or not. */
  end(error: Error): void {
    if (this.closed) return;
    this.closed = true;
    for (const receive of [...this.receives]) receive.end(error);
    if (this.host.world.plan.broker.leaseMs === null) this.host.world.broker.giveBackOf(this);
  }

  /** Takes up to `max` messages from the broker, not yet handed out. */
  take(max: number): Handed[] {
    const { broker } = this.host.world;
    const taken: Handed[] = [];
    while (taken.length < max) {
      const item = broker.take(this.queue, this);
      if (item === undefined) break;
      const handed = deliver(this.host, item);
      this.transport.rules.taken(handed);
      taken.push(handed);
    }
    return taken;
  }

  find(delivery: Delivery): Handed | undefined {
    return this.handed.find((handed) => handed.delivery === delivery);
  }

  #lose(handed: Handed, error: Error): void {
    if (handed.lost) return;
    handed.lost = true;
    handed.done = true;
    if (!this.host.alive) return;
    this.host.world.log.step(this.host.name, `lost(${handed})`);
    this.options.lost(handed.delivery, error);
  }
}

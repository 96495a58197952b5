import { ConnectionError, SettleWriteError } from "../../core/errors.ts";
import type {
  Delivery,
  SignalOptions,
  SubscribeOptions,
  Subscription,
  Verdict,
} from "../../runtime/transport.ts";
import { MOST_TWINS } from "./_broker.ts";
import { deliver } from "./_deliver.ts";
import type { Handed } from "./_handed.ts";
import { fateOfExtend, fateOfSettle } from "./_fates.ts";
import { Receive } from "./_receive.ts";
import { applyVerdict, writes } from "./_settle.ts";
import type { SimTransport } from "./_transport.ts";
import type { Host } from "./_world.ts";

/** Shortest back-off after a failure, in milliseconds. */
const SHORTEST_BACK_OFF_MS = 50;

/** One queue's deliveries on one connection. */
export class SimSubscription implements Subscription {
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
  /** Until then the worker backs off from a failure at `failedAtMs`. */
  quietUntilMs: number = -1;
  failedAtMs: number = -1;

  constructor(host: Host, transport: SimTransport, queue: string, options: SubscribeOptions) {
    this.host = host;
    this.transport = transport;
    this.queue = queue;
    this.options = options;
    this.bornAtMs = host.world.time.nowMs;
    const { lanes, extend } = host.world.plan.broker;
    this.lanes = lanes;
    if (extend) this.extend = (delivery) => this.#extend(delivery);
  }

  receive(max: number, waitMs: number): Promise<readonly Delivery[]> {
    const { faults } = this.host.world;
    this.transport.rules.receive(this, max, waitMs);
    if (faults.strikes("receive throws")) {
      this.receiveFailed(-1);
      throw new ConnectionError("no channel to receive on");
    }
    return new Promise((resolve, reject) => {
      this.receives.add(new Receive(this, max, waitMs, { resolve, reject }));
    });
  }

  settle(delivery: Delivery, verdict: Verdict): Promise<"settled" | "expired"> {
    const { rules, line } = this.transport;
    const { faults, broker, log } = this.host.world;
    const handed = this.find(delivery);
    const call = rules.settle(this, handed, verdict);
    if (faults.strikes("settle throws")) {
      rules.answered(handed, call, "failed");
      throw new Error("the settle could not be made");
    }
    if (this.closed) {
      return Promise.reject(new ConnectionError("the subscription is closed")).catch((error) => {
        rules.answered(handed, call, "failed");
        throw error;
      });
    }
    const writing = writes(verdict, broker.plan);
    const unwritten = writing && faults.strikes("settle write fails");
    const unsure = writing && faults.strikes("settle write unsure");
    const fate = fateOfSettle(this.host.world);
    const answer = line.ask((): "settled" | "expired" => {
      if (verdict.kind === "leave") return "settled";
      if (unwritten) throw new SettleWriteError("the broker refused the write");
      if (unsure && handed.item.message.twins++ < MOST_TWINS) {
        applyVerdict(broker, handed, verdict, "write only");
        throw new SettleWriteError("the broker did not confirm the write");
      }
      if (!broker.holds(handed.item, delivery)) return "expired";
      handed.done = true;
      if (verdict.kind === "ack" && !call.handled) {
        log.step("broker", `drops ${handed}`);
        handed.item.message.dropped++;
      }
      applyVerdict(broker, handed, verdict, "all");
      return "settled";
    }, fate);
    return answer.then((result) => {
      rules.answered(handed, call, result);
      return result;
    }, (error) => {
      rules.answered(handed, call, error instanceof SettleWriteError ? "write failed" : "failed");
      throw error;
    });
  }

  async close(options: SignalOptions = {}): Promise<void> {
    const { faults, chance } = this.host.world;
    this.transport.rules.called("subscription.close");
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
  handOut(batch: readonly Handed[], max: number): readonly Delivery[] {
    const { log, faults, chance, time } = this.host.world;
    const deliveries = batch.map((handed) => handed.delivery);
    for (const handed of batch) {
      handed.handedInStep = time.steps;
      handed.untilMs = (handed.delivery.leaseUntilMs ?? Infinity) - this.host.wallMs + time.nowMs;
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
  receiveFailed(sinceMs: number = this.host.world.time.nowMs): void {
    const { nowMs } = this.host.world.time;
    if (nowMs < this.quietUntilMs) return;
    this.failedAtMs = sinceMs;
    this.quietUntilMs = nowMs + SHORTEST_BACK_OFF_MS;
  }

  /** The broker takes one message from the worker. */
  loseOne(): void {
    const open = this.handed.filter((handed) => !handed.done && !handed.lost);
    if (open.length === 0) return;
    const handed = this.host.world.chance.pick(open);
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

  find(delivery: Delivery): Handed {
    return this.handed.find((handed) => handed.delivery === delivery)!;
  }

  #lose(handed: Handed, error: Error): void {
    if (handed.lost) return;
    handed.lost = true;
    handed.done = true;
    if (!this.host.alive) return;
    this.host.world.log.step(this.host.name, `lost(${handed})`);
    this.options.lost(handed.delivery, error);
  }

  #extend(delivery: Delivery): Promise<number | null> {
    const { rules, line } = this.transport;
    const { faults, broker } = this.host.world;
    const handed = this.find(delivery);
    rules.extend(handed);
    if (faults.strikes("extend throws")) throw new Error("the extension could not be asked for");
    const gone = faults.strikes("extend null");
    const answer = line.ask(() => {
      if (gone && broker.holds(handed.item, delivery)) broker.giveBack(handed.item);
      if (!broker.holds(handed.item, delivery)) return null;
      broker.extend(handed.item);
      return this.host.wallMs + broker.plan.leaseMs!;
    }, fateOfExtend(this.host.world));
    return answer.then((untilMs) => {
      rules.extended(handed, untilMs);
      return untilMs;
    });
  }
}

import { ConnectionError } from "../../core/errors.ts";
import type { Delivery } from "../../runtime/transport.ts";
import { MOST_TWINS, stored } from "./_broker.ts";
import type { Handed } from "./_handed.ts";
import { LATE_MS } from "./_line.ts";
import type { SimSubscription } from "./_subscription.ts";
import type { Entry } from "./_time.ts";

/** How much longer than its own wait the worker gives a receive, in milliseconds. */
const PATIENCE_MS = 30_000;

/** How a receive is answered. */
export interface Answer {
  resolve(deliveries: readonly Delivery[]): void;
  reject(error: Error): void;
}

/** One call of `receive`, from its way to the broker until its answer. */
export class Receive {
  readonly max: number;
  readonly waitMs: number;
  readonly issuedAtMs: number;
  readonly #issuedInStep: number;
  readonly #subscription: SimSubscription;
  readonly #answer: Answer;
  readonly #stopWaiting: (() => void)[] = [];
  readonly #hangs: boolean;
  readonly #lateMs: number;
  readonly #deaf: boolean;
  #taken: Handed[] = [];
  #next: Entry | null = null;
  #over = false;

  constructor(subscription: SimSubscription, max: number, waitMs: number, answer: Answer) {
    this.#subscription = subscription;
    this.max = max;
    this.waitMs = waitMs;
    this.#answer = answer;
    const { time, faults, chance } = subscription.host.world;
    this.issuedAtMs = time.nowMs;
    this.#issuedInStep = time.steps;
    this.#hangs = faults.strikes("receive hangs");
    this.#lateMs = faults.strikes("receive late") ? chance.pick(LATE_MS) : 0;
    this.#deaf = (this.#hangs || this.#lateMs > 0) && chance.hits(0.5);
    this.#after(subscription.transport.line.wayMs, () => this.#arrive());
  }

  /** Whether the worker may have given it up: it waited long enough for the answer. */
  get givenUp(): boolean {
    return this.ageMs >= PATIENCE_MS;
  }

  /** How long it has taken beyond its own wait. */
  get ageMs(): number {
    return this.#subscription.host.world.time.nowMs - this.issuedAtMs - this.waitMs;
  }

  /** The connection broke under it. */
  cut(error: Error): void {
    if (!this.#deaf) this.#reject(error);
  }

  /** The subscription ends: what was taken and not handed out goes back. */
  end(error: Error): void {
    for (const stop of this.#stopWaiting.splice(0)) stop();
    if (this.#deaf) return;
    const { broker, chance } = this.#subscription.host.world;
    for (const { item, delivery } of this.#taken) {
      if (broker.holds(item, delivery)) broker.giveBack(item);
    }
    this.#taken = [];
    if (chance.hits(0.5)) this.#finish(() => this.#answer.reject(error));
    else this.#finish(() => this.#answer.resolve([]));
  }

  #arrive(): void {
    const { host, transport, options } = this.#subscription;
    const { faults } = host.world;
    if (this.#hangs) return;
    if (faults.strikes("receive fatal")) {
      return this.#fail(new ConnectionError("the credentials are gone", { fatal: true }));
    }
    if (faults.strikes("receive rejects")) return this.#fail(new ConnectionError("try again"));
    if (!transport.line.up) return this.#fail(new ConnectionError("the connection is down"));
    if (this.#subscription.closed || options.intake.aborted) return this.#give();
    if (this.#take()) return;
    const { time, broker } = host.world;
    const end = (): void => this.#give();
    options.intake.addEventListener("abort", end, { once: true });
    const timer = time.at(this.waitMs, end);
    const wait = (): void => {
      const off = broker.onReady(() => {
        if (!this.#take()) wait();
      });
      this.#stopWaiting[0] = off;
    };
    this.#stopWaiting.push(
      () => {},
      () => time.cancel(timer),
      () => options.intake.removeEventListener("abort", end),
    );
    wait();
  }

  #take(): boolean {
    const { chance, faults, broker, plan } = this.#subscription.host.world;
    // Brokers often give less than they have.
    const wanted = chance.hits(0.3) ? chance.between(1, this.max) : this.max;
    const more = faults.strikes("receive gives more") ? chance.between(1, 3) : 0;
    this.#taken = this.#subscription.take(wanted + more);
    if (this.#taken.length === 0) return false;
    const { item } = chance.pick(this.#taken);
    if (item.message.twins < MOST_TWINS && faults.strikes("message doubled")) {
      item.message.twins++;
      const { message, queue, body, headers, gated, header, beside, counted } = item;
      const more = {
        counted,
        headers,
        gated,
        ...(header === undefined ? {} : { header }),
        ...(beside === undefined ? {} : { beside }),
      };
      const twin = stored(message, queue, body, more);
      if (plan.broker.counting === "floor") twin.delivered = item.delivered;
      broker.put(twin, chance.pick([0, 5, 500]));
    }
    this.#give();
    return true;
  }

  #give(): void {
    for (const stop of this.#stopWaiting.splice(0)) stop();
    const subscription = this.#subscription;
    this.#after(subscription.transport.line.wayMs + this.#lateMs, () => {
      this.#finish(() => this.#answer.resolve(subscription.handOut(this.#taken, this)));
      // What brings a delivery can bring its end in the same read.
      const { faults } = subscription.host.world;
      if (this.#taken.length > 0 && faults.strikes("lock lost")) subscription.loseOne();
    });
  }

  #fail(error: Error): void {
    this.#after(this.#subscription.transport.line.wayMs + this.#lateMs, () => this.#reject(error));
  }

  #reject(error: Error): void {
    this.#finish(() => {
      if (!this.givenUp) {
        this.#subscription.receiveFailed();
        if (error instanceof ConnectionError && error.fatal) {
          this.#subscription.host.fatal(this.#issuedInStep);
        }
      }
      this.#answer.reject(error);
    });
  }

  #finish(answer: () => void): void {
    if (this.#over) return;
    this.#over = true;
    for (const stop of this.#stopWaiting.splice(0)) stop();
    const { host, receives } = this.#subscription;
    if (this.#next) host.world.time.cancel(this.#next);
    receives.delete(this);
    if (host.alive) answer();
  }

  #after(ms: number, run: () => void): void {
    this.#next = this.#subscription.host.world.time.at(ms, run);
  }
}

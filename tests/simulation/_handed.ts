import type { Delivery, Verdict } from "../../runtime/transport.ts";
import { reconcile } from "../../core/attempts.ts";
import type { Stored } from "./_broker.ts";
import { LeaseWatch } from "./_lease_watch.ts";
import type { Host } from "./_world.ts";
import type { Time } from "./_time.ts";
import { attemptsOf, type MessageKind } from "./_message.ts";

/** A call of `settle`, and how it was answered. */
export interface SettleCall {
  readonly verdict: Verdict;
  readonly atMs: number;
  /** Whether it acknowledges what the handler has done. */
  readonly handled: boolean;
  /** Whether the handler returned in the very step in which its time was over: it may count or not. */
  readonly unclear: boolean;
  /** Whether it follows at once on the end of the work, without a hold. */
  readonly prompt: boolean;
  answer: "none" | "settled" | "expired" | "write failed" | "failed";
  answeredAtMs: number;
}

/** A call of the handler. */
export interface HandlerCall {
  readonly startedAtMs: number;
  readonly timeoutMs: number;
  state: "running" | "returned" | "threw";
  /** What it threw forbids another attempt. */
  final: boolean;
  /** When it ended, and in which step of the history. */
  endedAtMs: number;
  endedInStep: number;
}

/** A delivery that was handed to a worker, as the world sees it. */
export class Handed {
  readonly delivery: Delivery;
  readonly item: Stored;
  /** What it is to the worker that has it. */
  readonly kind: Exclude<MessageKind, "bare">;
  /** Earlier deliveries, as the worker has to count them. */
  readonly reconciled: number;
  /** End of its lease in elapsed time, as the worker was last told. */
  untilMs: number = Infinity;
  /** The worker was told that it is lost, by an answer of this step when it was no call. */
  lost = false;
  lostInStep: number = -1;
  /** It was handed out after its run had ended. */
  late = false;
  /** The worker did not ask for it: it is too many, or came by a receive that was given up. */
  surplus = false;
  /** Whether the transport is done with it. */
  done = false;
  /** An extension was answered when the lease had just ended: whether it counts depends on a timer. */
  doubtful = false;
  /** The step of the history in which it was handed out. */
  handedInStep: number = -1;
  readonly settles: SettleCall[] = [];
  handler: HandlerCall | null = null;
  readonly lease: LeaseWatch;

  constructor(delivery: Delivery, item: Stored, { options, world }: Host) {
    this.delivery = delivery;
    this.item = item;
    this.lease = new LeaseWatch(world);
    const { missingAttempts } = world.plan.policy;
    const { kind } = item.message;
    const bareIsPoison = options.strict === true || missingAttempts === "poison";
    if (item.gated) this.kind = "gated";
    else if (kind !== "bare") this.kind = kind;
    else if (attemptsOf(delivery.body) !== null) this.kind = "foreign";
    else this.kind = bareIsPoison ? "poison" : "foreign";
    const readable = this.kind !== "poison" && this.kind !== "gated";
    this.reconciled = reconcile(readable ? attemptsOf(delivery.body) : null, delivery.counting);
  }

  /** Whether a worker has a handler for it. */
  get dispatchable(): boolean {
    return this.kind === "good" || this.kind === "foreign";
  }

  /** Whether it is the worker's, and nothing was settled yet, at this time. */
  held(nowMs: number): boolean {
    return this.settles.length === 0 && !this.lost && !this.doubtful && nowMs < this.untilMs;
  }

  /** Whether it has a handler's slot, at this time. */
  inSlot(nowMs: number): boolean {
    if (!this.dispatchable || !this.held(nowMs)) return false;
    // One that is too many waits until the worker knows of it.
    if (this.handler === null) return !this.surplus;
    const { state, startedAtMs, timeoutMs } = this.handler;
    return state === "running" && nowMs < startedAtMs + timeoutMs;
  }

  /** Whether a settle at this time follows at once on the end of the work. */
  prompt({ nowMs, steps }: Time): boolean {
    if (this.settles.length > 0) return false;
    if (this.handler === null) return this.handedInStep === steps;
    const { state, startedAtMs, timeoutMs, endedInStep } = this.handler;
    return state === "running" ? nowMs < startedAtMs + timeoutMs : endedInStep === steps;
  }

  /** Whether the message was settled without its handler, or the worker was told that it is lost. */
  takenAway({ steps }: Time): boolean {
    return this.settles.length > 0 || (this.lost && this.lostInStep < steps);
  }

  /** Whether the handler ended in this step, at or after its time-out. */
  endsLate({ steps }: Time): boolean {
    if (this.handler === null || this.handler.endedInStep !== steps) return false;
    return this.handler.endedAtMs >= this.handler.startedAtMs + this.handler.timeoutMs;
  }

  /** Whether the handler returned before its time-out. */
  get handled(): boolean {
    if (this.handler?.state !== "returned") return false;
    return this.handler.endedAtMs < this.handler.startedAtMs + this.handler.timeoutMs;
  }

  /** How a trace calls it. */
  toString(): string {
    return `#${this.item.message.serial} (${this.kind}, after ${this.reconciled})`;
  }
}

import type { EventSubject } from "./events.ts";
import type { LeaseKeeper } from "./lease.ts";
import type { Deadline } from "./_deadlines.ts";
import type { Delivery, Subscription } from "./transport.ts";

/** Where a delivery stands in the worker. Each one goes forward only. */
export type HeldState = "ready" | "working" | "deciding" | "holding" | "settling" | "gone";

/** A delivery in the worker's hands, from receive until it is settled or lost. */
export class Held {
  readonly delivery: Delivery;
  /** Where it came from and goes back to. */
  readonly subscription: Subscription;
  /** Set right after construction, since the keeper reports back to this delivery. */
  lease: LeaseKeeper | undefined;
  state: HeldState = "ready";
  /** Whether the lease was lost, even if too late to stop a settle. */
  lost = false;
  /** When the handler started, in milliseconds of `Clock.elapsed`. */
  startedAtMs = 0;
  /** Bounds the handler, later the hold. */
  deadline: Deadline | undefined;
  /** What the hold ends with. */
  afterHold: (() => void) | undefined;
  /** What the body says, once it has been read. */
  urn = "";
  messageId = "";
  traceId = "";
  metaQueue: string | null = null;
  reconciled = 0;
  maxAttempts: number | undefined;
  /** Whether the body has the canonical shape, so that a splice need not look at it again. */
  canonical = false;
  #controller: AbortController | undefined;
  #aborted: Error | undefined;

  constructor(delivery: Delivery, subscription: Subscription) {
    this.delivery = delivery;
    this.subscription = subscription;
  }

  /** The handler's signal, made when it is first asked for. */
  signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  /** Why the handler's signal is aborted, or would be if anybody had asked for it. */
  get aborted(): Error | undefined {
    return this.#aborted;
  }

  /** Aborts the handler's signal. */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#controller?.abort(this.#aborted);
  }

  /** What an event says about this message. */
  subject(): EventSubject {
    return {
      queue: this.delivery.queue,
      urn: this.urn,
      messageId: this.messageId,
      attempt: Math.min(this.reconciled + 1, Number.MAX_SAFE_INTEGER),
    };
  }
}

/** Why a delivery is settled the way it is. */
export type SettleCause =
  | "handled"
  | "failed"
  | "unknown_urn"
  | "poison"
  | "gated"
  | "write_failed"
  | "shutdown";

import {
  BabelQueueError,
  ConnectionError,
  failedOutcome,
  type PublishOutcome,
  uncertainOutcome,
} from "@bq/core/transport";
import type { AmqpContext, AmqpDelivery, AmqpOutgoing, AmqpSender, AmqpSession } from "./_amqp.ts";
import type { Connector } from "./_connector.ts";
import { brokerError, connectionError } from "./_errors.ts";

/** Most messages that are sent and not confirmed. */
const LARGEST_WINDOW = 2_000;

/**
 * What the broker may answer. Qpid ends the whole link for a message that it does not take, unless it
 * reads here that it may be rejected.
 */
const OUTCOMES: readonly string[] = ["accepted", "rejected", "released", "modified"]
  .map((outcome) => `amqp:${outcome}:list`);

/** Some messages with one deadline. */
interface Batch {
  readonly outcomes: PublishOutcome[];
  left: number;
  done(): void;
}

/** One message on its way. */
interface Entry {
  readonly message: AmqpOutgoing;
  readonly batch: Batch;
  readonly index: number;
  sent: boolean;
  ended: boolean;
}

/** A link that is attached, or about to be. */
interface OpenLink {
  readonly session: AmqpSession;
  readonly link: AmqpSender;
  open: boolean;
  /** How many messages were handed to it. */
  handed: number;
}

/**
 * Sends to one address, in order, and knows what became of each message: the client tells nothing any
 * more about what was unconfirmed when its connection broke. What waits for the broker's credit has
 * not been sent. Contract: X16.
 */
export class Sender {
  readonly #address: string;
  readonly #connector: Connector;
  readonly #unwatch: () => void;
  readonly #pending: Map<AmqpDelivery, Entry> = new Map();
  #waiting: Entry[] = [];
  #attached: OpenLink | undefined;
  #closed = false;

  /**
   * @param address Name of the queue.
   * @param connector The connection.
   */
  constructor(address: string, connector: Connector) {
    this.#address = address;
    this.#connector = connector;
    this.#unwatch = connector.watch({
      up: () => this.#flush(),
      down: (error) => this.#down(error),
    });
  }

  /** Whether nothing is on its way. */
  get idle(): boolean {
    return this.#pending.size === 0 && this.#waiting.length === 0;
  }

  /**
   * Sends in order.
   *
   * @param messages The messages.
   * @param signal Ends the wait: what was sent is uncertain then, the rest is not sent.
   * @returns One outcome a message. It never rejects.
   */
  send(
    messages: readonly AmqpOutgoing[],
    signal: AbortSignal | undefined,
  ): Promise<readonly PublishOutcome[]> {
    return new Promise((resolve) => {
      const outcomes: PublishOutcome[] = new Array(messages.length);
      const abort = (): void => {
        for (const entry of entries) {
          if (!entry.ended) this.#end(entry, this.#late(entry));
        }
      };
      const batch: Batch = {
        outcomes,
        left: messages.length,
        done: () => {
          signal?.removeEventListener("abort", abort);
          resolve(outcomes);
        },
      };
      const entries = messages.map((message, index): Entry => ({
        message,
        batch,
        index,
        sent: false,
        ended: false,
      }));
      if (entries.length === 0) return batch.done();
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.push(...entries);
      if (signal?.aborted) abort();
      else this.#flush();
    });
  }

  /** Ends the link; what is on its way has its outcome. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#unwatch();
    const closed = new BabelQueueError("closed", "the transport is closed");
    this.#failWaiting(connectionError(this.#doing, closed));
    this.#loosen(closed);
    this.#attached?.session.close();
    this.#attached = undefined;
  }

  get #doing(): string {
    return `publish to '${this.#address}'`;
  }

  #flush(): void {
    if (this.#waiting.length === 0 || this.#closed) return;
    if (!this.#connector.up) {
      if (this.#connector.lost.fatal) this.#failWaiting(this.#connector.lost);
      return;
    }
    const attached = this.#attached ??= this.#attach();
    if (!attached.open) return;
    const { link } = attached;
    while (this.#waiting.length > 0 && this.#pending.size < LARGEST_WINDOW) {
      // The client counts a message as sent a tick after it was handed over.
      if (attached.handed >= link.delivery_count + link.credit) return;
      const entry = this.#waiting.shift()!;
      if (entry.ended) continue;
      try {
        this.#pending.set(this.#hand(link, entry.message), entry);
        entry.sent = true;
        attached.handed++;
      } catch (error) {
        this.#end(entry, failed(this.#doing, error));
      }
    }
  }

  #hand(link: AmqpSender, message: AmqpOutgoing): AmqpDelivery {
    return message instanceof Uint8Array
      ? link.send(message, undefined, 0)
      : link.send(this.#connector.writable(message));
  }

  #attach(): OpenLink {
    const session = this.#connector.session();
    const link = session.attach_sender({
      source: { outcomes: OUTCOMES },
      target: { address: this.#address, capabilities: ["queue"] },
    });
    const attached: OpenLink = { session, link, open: false, handed: 0 };
    const gone = (): void => this.#gone(attached);
    link.on("sender_open", () => {
      // A refused link opens without a target, and its error follows.
      if (!link.target?.address) return;
      attached.open = true;
    });
    link.on("sendable", () => this.#flush());
    link.on("accepted", (context) => this.#ended(context, { status: "confirmed" }));
    link.on("rejected", (context) => this.#refused(context, "the broker rejected it"));
    link.on("released", (context) => this.#refused(context, "the broker gave it back"));
    link.on("modified", (context) => this.#refused(context, "the broker gave it back"));
    link.on("sender_error", gone);
    link.on("sender_close", gone);
    session.on("session_error", gone);
    session.on("session_close", gone);
    return attached;
  }

  #ended({ delivery }: AmqpContext, outcome: PublishOutcome): void {
    const entry = delivery && this.#pending.get(delivery);
    if (entry === undefined) return;
    this.#pending.delete(delivery!);
    this.#end(entry, outcome);
    this.#flush();
  }

  #refused(context: AmqpContext, otherwise: string): void {
    const error = brokerError(context.delivery?.remote_state?.error, otherwise);
    this.#ended(context, failed(this.#doing, error));
  }

  /** The broker ended the link: nothing more goes this way, and the next message tries anew. */
  #gone(attached: OpenLink): void {
    if (this.#attached !== attached) return;
    this.#attached = undefined;
    const error = brokerError(
      attached.link.error ?? attached.session.error,
      "the broker ended the link",
    );
    this.#connector.endSession(attached.session);
    this.#loosen(error);
    this.#failWaiting(connectionError(this.#doing, error));
  }

  #down(error: ConnectionError): void {
    this.#attached = undefined;
    this.#loosen(error);
    if (error.fatal) this.#failWaiting(error);
  }

  /** What was sent may or may not be there. */
  #loosen(cause: Error): void {
    const entries = [...this.#pending.values()];
    this.#pending.clear();
    for (const entry of entries) this.#end(entry, uncertainOutcome(this.#doing, cause));
  }

  #failWaiting(error: ConnectionError): void {
    const entries = this.#waiting;
    this.#waiting = [];
    for (const entry of entries) {
      if (!entry.ended) this.#end(entry, failed(this.#doing, error));
    }
  }

  #late(entry: Entry): PublishOutcome {
    const late = new Error("no answer came in time");
    if (entry.sent) return uncertainOutcome(this.#doing, late);
    if (!this.#connector.up) return failed(this.#doing, this.#connector.lost);
    const blocked = this.#attached?.open && this.#pending.size < LARGEST_WINDOW;
    return failed(this.#doing, blocked ? new Error("the broker gives no credit") : late);
  }

  #end(entry: Entry, outcome: PublishOutcome): void {
    if (entry.ended) return;
    entry.ended = true;
    entry.batch.outcomes[entry.index] = outcome;
    if (--entry.batch.left === 0) entry.batch.done();
  }
}

function failed(doing: string, cause: unknown): PublishOutcome {
  if (!(cause instanceof ConnectionError)) return failedOutcome(doing, cause);
  return { status: "failed", error: connectionError(doing, cause) };
}

import { nextTick } from "node:process";
import { type ConnectionError, unlessAborted } from "@bq/core/transport";
import type { AmqpDelivery, AmqpReceiver, AmqpSession, Terminus } from "./_amqp.ts";
import { type Connector, SESSION_BUFFER } from "./_connector.ts";
import { Received, withoutDecoding } from "./_decode.ts";
import { brokerError, connectionError } from "./_errors.ts";

/** A message that came, until it is settled. */
export interface Arrival {
  readonly received: Received;
  readonly native: AmqpDelivery;
  readonly receiver: Receiver;
  settled: boolean;
}

/** Tells the broker what became of a message. */
export type Outcome = (native: AmqpDelivery) => void;

/** It is done with. */
export const accepted: Outcome = (native) => native.accept();
/** It goes back, and no delivery is counted. */
export const released: Outcome = (native) => native.release();
/** It goes back, and a delivery is counted. Contract: X12. */
export const failed: Outcome = (native) =>
  native.modified({ delivery_failed: true, undeliverable_here: false });

/** Whom a receiver tells. */
export interface ReceiverListener {
  arrived(arrival: Arrival): void;
  /** The link is gone, and with it what it brought and was not settled. */
  gone(receiver: Receiver, error: ConnectionError): void;
}

/**
 * One link that receives, on a session of its own. It asks for as many messages as it is told, and
 * forgets nothing: credit that is not used can be drained. Contract: X10.
 */
export class Receiver {
  readonly #queue: string;
  readonly #connector: Connector;
  readonly #session: AmqpSession;
  readonly #link: AmqpReceiver;
  readonly #listener: ReceiverListener;
  readonly #opened: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #closed: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #unwatch: () => void;
  /** What was not settled, and what stands behind it in the client's buffer; the oldest first. */
  readonly #span: Arrival[] = [];
  #unsettled = 0;
  readonly #settling: { readonly arrival: Arrival; readonly outcome: Outcome }[] = [];
  #credit = 0;
  #draining: PromiseWithResolvers<void> | undefined;
  #over = false;

  private constructor(
    queue: string,
    source: Terminus,
    connector: Connector,
    listener: ReceiverListener,
  ) {
    this.#queue = queue;
    this.#connector = connector;
    this.#listener = listener;
    this.#opened.promise.catch(() => {});
    const { codec } = connector;
    this.#session = connector.session();
    withoutDecoding(this.#session);
    this.#link = this.#session.attach_receiver({
      source,
      credit_window: 0,
      autoaccept: false,
    });
    this.#unwatch = connector.watch({ down: (error) => this.#end(error) });
    const refused = (): void => {
      const { error = this.#session.error } = this.#link;
      const cause = brokerError(error, "the broker ended the link");
      this.#end(connectionError(`receive from '${queue}'`, cause));
    };
    this.#link.on("receiver_open", () => {
      // A refused link opens without a source, and its error follows.
      if (this.#link.source?.address) this.#opened.resolve();
    });
    this.#link.on(
      "message",
      (context) => this.#arrived(new Received(context, codec), context.delivery!),
    );
    this.#link.on("receiver_drained", () => this.#drained());
    this.#link.on("receiver_error", refused);
    this.#link.on("receiver_close", refused);
    this.#session.on("session_error", refused);
    this.#session.on("session_close", refused);
  }

  /**
   * Opens a link.
   *
   * @throws {ConnectionError} when there is no connection, or the broker refuses it.
   */
  static async open(
    queue: string,
    connector: Connector,
    listener: ReceiverListener,
    more: Pick<Terminus, "distribution_mode"> = {},
  ): Promise<Receiver> {
    const source = { address: queue, capabilities: ["queue"], ...more };
    const receiver = new Receiver(queue, source, connector, listener);
    await receiver.#opened.promise;
    return receiver;
  }

  /** How many messages may still come. */
  get credit(): number {
    return this.#credit;
  }

  /** How many more it can ask for: one that stays unsettled for long holds up those behind it. */
  get room(): number {
    return SESSION_BUFFER - 1 - this.#span.length - this.#credit;
  }

  /** Whether nothing is unsettled and nothing can come. */
  get idle(): boolean {
    return this.#unsettled === 0 && this.#credit === 0;
  }

  /** Whether the broker was asked to use up the credit: only then is it known what is left of it. */
  get draining(): boolean {
    return this.#draining !== undefined;
  }

  /** Asks for that many more. */
  ask(count: number): void {
    if (count <= 0 || this.#over) return;
    this.#credit += count;
    this.#link.add_credit(count);
  }

  /** Lets the broker send what is there for the credit given, and take back the rest. */
  drain(): Promise<void> {
    if (this.#credit === 0 || this.#over) return Promise.resolve();
    if (this.#draining === undefined) {
      this.#draining = Promise.withResolvers();
      this.#link.drain_credit();
    }
    return this.#draining.promise;
  }

  /**
   * Settles an arrival, with all others of the same turn.
   *
   * @param arrival What came on this link.
   * @param outcome What to tell the broker; undefined for nothing.
   */
  settle(arrival: Arrival, outcome: Outcome | undefined): void {
    if (outcome === undefined) return;
    arrival.settled = true;
    this.#unsettled--;
    while (this.#span[0]?.settled) this.#span.shift();
    if (this.#settling.push({ arrival, outcome }) > 1) return;
    // The client writes in a tick that it asks for at the first settle: what is settled in one tick
    // here is written in one.
    nextTick(() => this.#writeSettles());
  }

  /** Ends the link; the broker gives what is unsettled to another consumer, uncounted. */
  async close(signal?: AbortSignal): Promise<void> {
    if (!this.#over) {
      this.#over = true;
      this.#drained();
      this.#writeSettles();
      this.#link.close();
      this.#session.close();
      this.#session.on("session_close", () => this.#closed.resolve());
      // A connection that is lost before the answer is one, too.
      void this.#closed.promise.then(this.#unwatch);
    }
    await unlessAborted(this.#closed.promise, signal, () => {});
  }

  #arrived(received: Received, native: AmqpDelivery): void {
    // What comes after the end goes back with the link.
    if (this.#over) return;
    this.#credit--;
    const arrival = { received, native, receiver: this, settled: false };
    this.#span.push(arrival);
    this.#unsettled++;
    this.#listener.arrived(arrival);
    // With all of the credit used up there is nothing left to be told of.
    if (this.#credit === 0 && this.draining) this.#drained();
  }

  /**
   * The client puts neighbouring deliveries into one frame, and the second of such a frame under the
   * outcome of the first even where they differ. None are neighbours in descending order.
   */
  #writeSettles(): void {
    const settling = this.#settling.splice(0);
    if (settling.some(({ outcome }) => outcome !== accepted)) {
      settling.sort((left, right) => right.arrival.native.id - left.arrival.native.id);
    }
    for (const { arrival, outcome } of settling) outcome(arrival.native);
  }

  #drained(): void {
    this.#link.drain = false;
    this.#credit = 0;
    this.#draining?.resolve();
    this.#draining = undefined;
  }

  #end(error: ConnectionError): void {
    this.#closed.resolve();
    if (this.#over) return;
    this.#over = true;
    this.#settling.length = 0;
    this.#unwatch();
    this.#drained();
    this.#connector.endSession(this.#session);
    this.#opened.reject(connectionError(`receive from '${this.#queue}'`, error));
    this.#listener.gone(this, error);
  }
}

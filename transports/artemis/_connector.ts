import {
  asError,
  BabelQueueError,
  ConnectionError,
  messageOf,
  type TransportContext,
  unlessAborted,
  within,
} from "@bq/core/transport";
import type { AmqpContext, AmqpMessage, AmqpSession, RheaConnection } from "./_amqp.ts";
import type { Codec } from "./_decode.ts";
import type { AmqpConnection } from "./client.ts";
import { type Dialled, hangUpInOrder } from "./_dial.ts";
import { Buffer } from "node:buffer";
import { connectionError } from "./_errors.ts";

/** Wait before the first attempt to reconnect, and the longest, in milliseconds. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** Longest time for one attempt, in milliseconds. */
const ATTEMPT_MS = 10_000;

/** What a broker closes with that goes down, or whose operator ends the connection. */
const FORCED = "amqp:connection:forced";

/** Makes a connection and tells when it is lost. */
export type Dial = (
  signal: AbortSignal,
  lost: (error: Error | undefined) => void,
) => Promise<Dialled>;

/** Who wants to know that the connection came or went. */
export interface Watcher {
  up?(): void;
  down(error: ConnectionError): void;
}

/** How many deliveries a session can hold from its oldest unsettled one on, in either direction. */
export const SESSION_BUFFER = 8_192;

/**
 * Keeps one connection: of its own, which it makes anew whenever it is lost, or one that was handed
 * in, which comes back by itself or not at all.
 */
export class Connector {
  readonly #context: TransportContext;
  readonly #dial: Dial | undefined;
  readonly #watchers: Set<Watcher> = new Set();
  readonly #closing: AbortController = new AbortController();
  #current: Dialled | undefined;
  #sessions: Set<AmqpSession> = new Set();
  #lost: ConnectionError | undefined;
  #unwatch: (() => void) | undefined;
  #reconnecting: Promise<void> | undefined;

  /**
   * @param context Time, chance, and whom to tell.
   * @param dial Makes a connection; undefined when one is handed in.
   */
  constructor(context: TransportContext, dial?: Dial) {
    this.#context = context;
    this.#dial = dial;
  }

  /** Makes the first connection; a failure is the caller's to repeat. */
  async open(signal: AbortSignal): Promise<void> {
    this.#current = await this.#dial!(signal, (error) => this.#down(error));
    this.#context.emit({ type: "connected" });
  }

  /** Takes a connection that is open, or will be within the signal's time. */
  async adopt(given: AmqpConnection, signal: AbortSignal): Promise<void> {
    const connection = given as RheaConnection;
    const opened = Promise.withResolvers<void>();
    const up = (): void => {
      this.#current = { connection, destroy: () => {} };
      opened.resolve();
      this.#context.emit({ type: "connected" });
      for (const watcher of this.#watchers) watcher.up?.();
    };
    const down = ({ error, reconnecting }: AmqpContext): void => {
      const gone = error ?? new Error("the connection is closed");
      // A broker that forces a connection closed expects it to come back.
      const { condition } = gone as { condition?: string };
      if (reconnecting || condition === FORCED) return this.#down(gone);
      const why = messageOf(gone) || condition;
      const lost = new ConnectionError(
        `Cannot reach the broker: ${why}; the connection given does not reconnect`,
        { cause: gone, fatal: true },
      );
      opened.reject(lost);
      this.#down(lost);
    };
    const listeners = { connection_open: up, disconnected: down, connection_close: down };
    for (const [event, listener] of Object.entries(listeners)) connection.on(event, listener);
    this.#unwatch = (): void => {
      for (const [event, listener] of Object.entries(listeners)) {
        connection.removeListener(event, listener);
      }
    };
    if (connection.is_open()) up();
    try {
      await unlessAborted(opened.promise, signal, () => {
        throw new ConnectionError("Cannot use the connection given: it did not open in time");
      });
    } catch (error) {
      this.#unwatch();
      throw error;
    }
  }

  /** Whether there is a connection. */
  get up(): boolean {
    return this.#current !== undefined;
  }

  /** What the broker says it can do. */
  get offers(): readonly string[] {
    const offered = this.#current?.connection.offered_capabilities ?? [];
    return typeof offered === "string" ? [offered] : offered;
  }

  /** What the broker calls itself; undefined when it does not say. */
  get product(): unknown {
    return this.#current?.connection.properties?.["product"];
  }

  /** Why there is no connection. */
  get lost(): ConnectionError {
    return this.#lost ?? new ConnectionError("Cannot reach the broker: no connection");
  }

  /**
   * What messages are decoded with.
   *
   * @throws {ConnectionError} when there is no connection.
   */
  get codec(): Codec {
    if (this.#current === undefined) throw this.lost;
    return this.#current.connection.container;
  }

  /** A message as the client takes it: bytes become a data section. */
  writable(message: AmqpMessage): AmqpMessage {
    const { body } = message;
    if (!(body instanceof Uint8Array) || this.#current === undefined) return message;
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return { ...message, body: this.#current.connection.container.message.data_section(bytes) };
  }

  /** Tells the watcher from now on. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /**
   * Begins a session on the connection that there is.
   *
   * @throws {ConnectionError} when there is none.
   */
  session(): AmqpSession {
    if (this.#current === undefined) throw this.lost;
    const size = { incoming: SESSION_BUFFER, outgoing: SESSION_BUFFER };
    const session = this.#current.connection.create_session(size);
    this.#sessions.add(session);
    const forget = (): void => void this.#sessions.delete(session);
    session.on("session_close", forget);
    session.begin();
    return session;
  }

  /**
   * Ends a session whose link the broker has ended. The client answers that end first, some turns
   * later; the other way round the broker would meet a link that it does not know.
   */
  endSession(session: AmqpSession): void {
    void this.#context.clock.sleep(0).then(() => {
      if (this.#sessions.delete(session)) session.close();
    });
  }

  /** Ends everything; the connection that was handed in stays. */
  async close(signal: AbortSignal): Promise<void> {
    this.#closing.abort();
    await this.#reconnecting;
    this.#unwatch?.();
    const current = this.#current;
    this.#current = undefined;
    const closed = new BabelQueueError("closed", "the transport is closed");
    this.#tellDown(connectionError("use the connection", closed));
    // Those of a connection that stays end with their links; one that goes takes them along.
    if (this.#dial !== undefined) this.#sessions.clear();
    if (current === undefined || this.#dial === undefined) return;
    await hangUpInOrder(current, signal);
  }

  #down(error: Error | undefined): void {
    if (this.#current === undefined) return this.#stillDown(error);
    this.#current = undefined;
    this.#lost = lossOf(error ?? new Error("the connection is lost"));
    const sessions = this.#sessions;
    this.#sessions = new Set();
    // A connection that comes back by itself would revive them, with nobody left who knows them.
    for (const session of sessions) session.remove();
    this.#context.emit({ type: "disconnected", ...(error ? { error } : {}) });
    this.#tellDown(this.#lost);
    if (this.#dial !== undefined && !this.#closing.signal.aborted) {
      this.#reconnecting = this.#reconnect(this.#dial);
    }
  }

  /** A connection that was handed in may try for a while before it gives up for good. */
  #stillDown(error: Error | undefined): void {
    if (!(error instanceof ConnectionError) || !error.fatal || this.#lost?.fatal) return;
    this.#lost = error;
    this.#tellDown(error);
  }

  #tellDown(error: ConnectionError): void {
    for (const watcher of [...this.#watchers]) watcher.down(error);
  }

  async #reconnect(dial: Dial): Promise<void> {
    const { clock, random } = this.#context;
    const closing = this.#closing.signal;
    for (let waitMs = FIRST_WAIT_MS;; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      await clock.sleep(waitMs * (1 - random() / 2), closing);
      if (closing.aborted) return;
      try {
        const attempt = (over: AbortSignal) => dial(over, (error) => this.#down(error));
        this.#current = await within(ATTEMPT_MS, clock, closing, attempt);
        this.#lost = undefined;
        this.#context.emit({ type: "connected" });
        for (const watcher of [...this.#watchers]) watcher.up?.();
        return;
      } catch (error) {
        this.#lost = lossOf(asError(error));
        // Whoever asks is told; it may be put right, so that the attempts go on.
        if (this.#lost.fatal) this.#tellDown(this.#lost);
      }
    }
  }
}

function lossOf(error: Error): ConnectionError {
  return error instanceof ConnectionError ? error : connectionError("reach the broker", error);
}

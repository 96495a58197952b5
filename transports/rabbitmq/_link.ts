import { asError, type Clock, ConnectionError, unlessAborted, within } from "@bq/core/transport";
import type { RabbitConnection } from "./client.ts";
import { connectionError, isGone } from "./_errors.ts";
import { cut } from "./_dial.ts";

/** First and longest wait before a lost connection is opened again, in milliseconds. */
const FIRST_BACK_OFF_MS = 100;
const LONGEST_BACK_OFF_MS = 5_000;
/** Longest wait for the broker's farewell, in milliseconds. */
const FAREWELL_MS = 2_000;

/** What the client answers on a connection that comes back by itself, once its owner closed it. */
const OWNER_CLOSED = "Connection closed";

/** What a link works with. */
export interface LinkSetup {
  /** Opens a connection; gives up when the signal is aborted. */
  dial(signal: AbortSignal): Promise<RabbitConnection>;
  /** The connection that was given; it is neither opened nor closed here. */
  readonly given?: RabbitConnection | undefined;
  /** Time. */
  readonly clock: Clock;
  /** Chance, for the waits. */
  random(): number;
  /** Told when the connection came, and when it went. */
  changed(up: boolean, error?: Error): void;
  /** Told when the broker takes no more publishes, and why. */
  blocked(reason: string): void;
}

/** One connection that is opened again whenever it is lost. */
export class Link {
  readonly #setup: LinkSetup;
  readonly #closing: AbortController = new AbortController();
  readonly #watchers: Set<() => void> = new Set();
  #connection: RabbitConnection | undefined;
  #opening: Promise<void> | undefined;
  #lastError: Error | undefined;
  #blockedBecause: string | undefined;
  #over = false;
  /** Whether a connection that was given and came back by itself does not any more. */
  #ended = false;
  /** Whether there was a connection ever. */
  #stood = false;
  /** How often it was lost. */
  #losses = 0;
  #forget: () => void = () => {};

  /** @param setup What it works with. */
  constructor(setup: LinkSetup) {
    this.#setup = setup;
  }

  /** The connection; undefined while there is none. */
  get connection(): RabbitConnection | undefined {
    return this.#connection;
  }

  /** Why the broker takes no publishes at the moment: it is short of memory or disk. */
  get blocked(): string | undefined {
    return this.#blockedBecause;
  }

  /** Why there is no connection. */
  get trouble(): ConnectionError {
    return connectionError("reach RabbitMQ", this.#lastError ?? new Error("no connection"));
  }

  /** Whether there is no connection and trying again cannot help. */
  get lost(): boolean {
    return this.#connection === undefined && this.#over;
  }

  /** What an error is about: one that only says that its channel is gone, why the connection is. */
  explain(error: unknown): unknown {
    if (this.#connection !== undefined && this.#isOver(error)) this.#end(this.#connection);
    return isGone(error) && this.#lastError !== undefined ? this.#lastError : error;
  }

  /** Calls back at every change. */
  watch(changed: () => void): void {
    this.#watchers.add(changed);
  }

  /**
   * Opens the connection unless it is open.
   *
   * @throws {ConnectionError} when that fails; at once when it is lost for good.
   */
  async open(): Promise<void> {
    if (this.#connection !== undefined) return;
    if (this.#over && this.#setup.given !== undefined) throw this.trouble;
    this.#opening ??= this.#open().finally(() => this.#opening = undefined);
    await this.#opening;
  }

  /** Disconnects; at the latest when `signal` is aborted, without the broker's answer. */
  async close(signal: AbortSignal | undefined): Promise<void> {
    this.#closing.abort();
    const connection = this.#connection;
    this.#connection = undefined;
    this.#forget();
    if (connection === undefined || this.#setup.given !== undefined) return;
    await this.#sayFarewell(connection, signal);
  }

  async #open(): Promise<void> {
    const { given } = this.#setup;
    let connection: RabbitConnection;
    try {
      if (given?.waitForConnect !== undefined) await this.#first(given.waitForConnect());
      connection = given ?? await this.#dial();
      // One that was given may have ended before anybody listened.
      if (given !== undefined) await (await given.createChannel()).close();
    } catch (error) {
      this.#lastError = this.#told(asError(error));
      if (given !== undefined && (given.waitForConnect === undefined || this.#isOver(error))) {
        this.#giveUp();
      }
      const trouble = connectionError("connect to RabbitMQ", this.#lastError);
      this.#over = trouble.fatal;
      throw trouble;
    }
    this.#over = false;
    if (this.#closing.signal.aborted) {
      if (given === undefined) await this.#sayFarewell(connection, undefined);
      throw new ConnectionError("Cannot connect to RabbitMQ: the transport is closed");
    }
    this.#adopt(connection);
    this.#lastError = undefined;
    this.#up(connection);
  }

  /** A connection that comes back by itself does so once it stood; the first wait fails for good. */
  async #first(connected: Promise<unknown>): Promise<void> {
    try {
      await connected;
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  /** Whether a connection that comes back by itself does not any more: its owner closed it, or its tries are over. */
  #isOver(error: unknown): boolean {
    if (this.#setup.given?.waitForConnect === undefined) return false;
    return this.#ended || asError(error).message === OWNER_CLOSED;
  }

  /** The connection that was given ended without an event. */
  #end(connection: RabbitConnection): void {
    this.#ended = true;
    this.#down(connection, undefined);
  }

  /** Only while it is opened: one that stands gets a farewell. */
  async #dial(): Promise<RabbitConnection> {
    const { signal } = this.#closing;
    const dialling = new AbortController();
    const abort = (): void => dialling.abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await this.#setup.dial(dialling.signal);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /**
   * The client hides why the broker did not open the virtual host. A mistake in its name or in the rights
   * shows at the first time; later it is more likely that the virtual host is just coming up.
   */
  #told(error: Error): Error {
    if (!/Expected ConnectionOpenOk/.test(error.message)) return error;
    return new ConnectionError(
      "Cannot connect to RabbitMQ: it did not open the virtual host; it may not exist, be down, have " +
        "too many connections, or not be for this user",
      { cause: error, fatal: !this.#stood },
    );
  }

  #adopt(connection: RabbitConnection): void {
    const error = (error: Error): void => void (this.#lastError = asError(error));
    const close = (error?: Error): void => this.#down(connection, error);
    const blocked = (reason: string): void => {
      this.#blockedBecause = reason;
      this.#setup.blocked(reason);
      this.#tell();
    };
    const unblocked = (): void => {
      this.#blockedBecause = undefined;
      this.#tell();
    };
    const connect = (): void => this.#up(connection);
    const failed = (error: Error): void => {
      this.#lastError = asError(error);
      this.#ended = true;
      this.#giveUp();
      this.#tell();
    };
    const listeners = {
      error,
      close,
      blocked,
      unblocked,
      // Of a connection that comes back by itself.
      ...(connection.waitForConnect === undefined
        ? {}
        : { connect, disconnect: close, "reconnect-failed": failed }),
    } as const;
    this.#forget();
    for (const [event, listener] of Object.entries(listeners)) connection.on(event, listener);
    this.#forget = (): void => {
      for (const [event, listener] of Object.entries(listeners)) {
        // A connection that was given up may still have an error to tell, and nobody else listens.
        if (event !== "error" || this.#setup.given !== undefined) {
          connection.removeListener(event, listener);
        }
      }
    };
  }

  #up(connection: RabbitConnection): void {
    if (this.#connection === connection || this.#closing.signal.aborted) return;
    this.#connection = connection;
    this.#stood = true;
    this.#setup.changed(true);
    this.#tell();
  }

  #down(connection: RabbitConnection, error: Error | undefined): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#blockedBecause = undefined;
    this.#lastError = error === undefined ? this.#lastError : asError(error);
    const { given, changed } = this.#setup;
    if (given === undefined) void this.#reopen();
    else if (given.waitForConnect === undefined || this.#ended) this.#giveUp();
    changed(false, this.#lastError);
    this.#tell();
  }

  /** A connection that was given and does not come back by itself. */
  #giveUp(): void {
    this.#over = true;
    const why = this.#lastError?.message ?? "it was closed";
    const hint = this.#ended ? "" : "; one made with 'recovery: true' comes back";
    this.#lastError = new ConnectionError(
      `Cannot use the connection that was given: ${why}${hint}`,
      { fatal: true, cause: this.#lastError },
    );
  }

  async #reopen(): Promise<void> {
    const { clock, random } = this.#setup;
    const { signal } = this.#closing;
    const loss = ++this.#losses;
    // A call may have opened it meanwhile; when it was lost again since, its waits began anew.
    const isOver = (): boolean => this.#connection !== undefined || loss !== this.#losses;
    for (let waitMs = FIRST_BACK_OFF_MS; !isOver(); waitMs *= 2) {
      const longestMs = Math.min(waitMs, LONGEST_BACK_OFF_MS);
      await clock.sleep(longestMs * (1 - random() / 2), signal);
      if (signal.aborted || isOver()) return;
      try {
        await this.open();
      } catch (error) {
        this.#tell();
        // It stood, so that what is wrong can be set right; calls fail at once meanwhile.
        if (error instanceof ConnectionError && error.fatal) waitMs = LONGEST_BACK_OFF_MS;
      }
    }
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher();
  }

  async #sayFarewell(connection: RabbitConnection, signal: AbortSignal | undefined): Promise<void> {
    const farewell = closeQuietly(connection);
    const end = (over: AbortSignal) => unlessAborted(farewell, over, () => cut(connection));
    await within(FAREWELL_MS, this.#setup.clock, signal, end);
  }
}

async function closeQuietly(connection: RabbitConnection): Promise<void> {
  try {
    await connection.close();
  } catch {
    // It was closed already.
  }
}

import type { Clock, ConnectionError } from "@bq/core/transport";
import type { RedisArgument, RedisClient, RedisReply } from "./client.ts";
import { connectionError, isUnknownScript, UnsentError } from "./_errors.ts";
import type { PlainCommand } from "./_layout.ts";
import { commandOf, type ScriptCall } from "./_script.ts";
import { Watch } from "./_watch.ts";

/** What the link tells about its connection. */
export type LinkListener = (up: boolean, error?: Error) => void;

/** One client in use: runs scripts, and knows whether there is a connection. */
export class Link {
  readonly client: RedisClient;
  readonly #listener: LinkListener;
  readonly #waiting: Set<() => void> = new Set();
  readonly #watch: Watch | undefined;
  #unwatch: (() => void) | undefined;
  #up = true;
  #lastError: Error | undefined;

  /**
   * @param client The client, connected.
   * @param clock Time.
   * @param listener Told when the connection goes and comes.
   */
  constructor(client: RedisClient, clock: Clock, listener: LinkListener) {
    this.client = client;
    this.#listener = listener;
    if (client.reconnect !== undefined) {
      this.#watch = new Watch(clock, (cause) => client.reconnect!(cause));
    }
    this.#unwatch = client.onConnection?.((up, error) => this.#changed(up, error));
  }

  /** Whether a command would be sent now. */
  get up(): boolean {
    return this.#up && this.client.connected !== false;
  }

  /** Resolves when there is a connection, or when the signal ends the wait. */
  async ready(signal: AbortSignal): Promise<void> {
    while (!this.up && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      await promise;
      this.#waiting.delete(resolve);
    }
  }

  /**
   * Sends a command.
   *
   * @throws {UnsentError} when there is no connection; nothing was sent then.
   */
  call(args: readonly RedisArgument[], key?: string): Promise<RedisReply> {
    return this.#ask(args, key, raise);
  }

  /** Runs a script by its SHA-1, and by its source where the server does not know it. Contract: R9. */
  run(call: ScriptCall): Promise<RedisReply> {
    const [key] = call.keys;
    const command = commandOf(call);
    return this.#ask(command, key, (error) => {
      if (!isUnknownScript(error)) throw error;
      return this.#ask(["EVAL", call.script.source, ...command.slice(2)], key, raise);
    });
  }

  /** Sends what is a script, or a plain command. */
  send(what: ScriptCall | PlainCommand): Promise<RedisReply> {
    return "script" in what ? this.run(what) : this.call(what.command, what.key);
  }

  /** Why nothing can be sent. */
  unsent(): ConnectionError {
    const cause = this.#lastError;
    const { message, fatal } = connectionError("reach Redis", cause ?? new Error("no connection"));
    return new UnsentError(message, { fatal, ...(cause ? { cause } : {}) });
  }

  /** Stops listening; the client itself stays as it is. */
  detach(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#watch?.end();
  }

  #ask(
    args: readonly RedisArgument[],
    key: string | undefined,
    refused: (error: unknown) => Promise<RedisReply>,
  ): Promise<RedisReply> {
    if (!this.up) return Promise.reject(this.unsent());
    const watch = this.#watch;
    watch?.sent();
    return asked(this.client, args, key).then((reply) => {
      watch?.answered();
      return reply;
    }, (error) => {
      watch?.answered();
      return refused(error);
    });
  }

  #changed(up: boolean, error: Error | undefined): void {
    if (error !== undefined) this.#lastError = error;
    if (up) this.#lastError = undefined;
    if (up !== this.#up) {
      this.#up = up;
      this.#listener(up, this.#lastError);
    }
    if (up) { for (const resolve of this.#waiting) resolve(); }
  }
}

/** Sends a command; a client of somebody's own may throw instead of rejecting. */
export function asked(
  client: RedisClient,
  args: readonly RedisArgument[],
  key: string | undefined,
): Promise<RedisReply> {
  try {
    return client.call(args, key);
  } catch (error) {
    return Promise.reject(error);
  }
}

function raise(error: unknown): never {
  throw error;
}

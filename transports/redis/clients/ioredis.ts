import { Buffer } from "node:buffer";
import type { ConnectionListener, RedisArgument, RedisClient, RedisReply } from "../client.ts";

/**
 * The part of `ioredis`, `iovalkey` and their `Cluster` that is used. Structural, so that any of their
 * versions serves without this package depending on it.
 */
export interface IoredisLike {
  /** `wait`, `connecting`, `ready`, `reconnecting`, `end` … */
  readonly status: string;
  /** True on a `Cluster`. */
  readonly isCluster?: boolean;
  /** Sends any command and gives its reply as bytes. */
  callBuffer(command: string, ...args: (string | Buffer)[]): Promise<unknown>;
  /** Connects, when it was made lazy. */
  connect(): Promise<unknown>;
  /** Disconnects at once. */
  disconnect(reconnect?: boolean): void;
  /** Makes another one like it; a `Cluster` takes nodes first. */
  duplicate(...args: unknown[]): unknown;
  /** Listens to `ready`, `close`, `end` and `error`. */
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  /** Stops listening. */
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}

/** What a connection for blocking commands does differently: it fails at once, and is then replaced. */
const BLOCKING = {
  lazyConnect: true,
  // Its first command waits for the connection that it makes.
  enableOfflineQueue: true,
  retryStrategy: (): null => null,
  sentinelRetryStrategy: (): null => null,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  // It blocks for a second at a time.
  commandTimeout: undefined,
  disconnectTimeout: 200,
};

/**
 * Adapts a client of `ioredis` or `iovalkey`. The client stays yours: it is not closed with the
 * transport.
 *
 * @param client A `Redis` or a `Cluster`.
 * @returns The surface that the transport uses.
 */
export function ioredisClient(client: IoredisLike): RedisClient {
  return new Ioredis(client);
}

/** What is done to a client, and to each that it is duplicated to, before its first command. */
export type Prepare = (client: IoredisLike) => IoredisLike;

/**
 * Adapts a client that belongs to the transport alone.
 *
 * @param client A `Redis` or a `Cluster`, made by the transport.
 * @param prepare What is done to it.
 */
export function ownedIoredis(client: IoredisLike, prepare: Prepare): RedisClient {
  return client.isCluster === true ? new Ioredis(client, prepare) : new Owned(client, prepare);
}

class Ioredis implements RedisClient {
  readonly cluster: boolean;
  protected readonly client: IoredisLike;
  protected readonly failed = (error: unknown): void => {
    this.#lastError = error as Error;
  };
  readonly #prepare: Prepare;
  #lastError: Error | undefined;

  constructor(client: IoredisLike, prepare: Prepare = (same) => same) {
    this.client = prepare(client);
    this.#prepare = prepare;
    this.cluster = client.isCluster === true;
  }

  get connected(): boolean {
    return this.client.status === "ready";
  }

  call(args: readonly RedisArgument[]): Promise<RedisReply> {
    const [command, ...rest] = args;
    return this.client.callBuffer(command as string, ...rest.map(writable)) as Promise<RedisReply>;
  }

  async connect(): Promise<void> {
    const { status } = this.client;
    if (status === "ready") return;
    // Without a listener the client prints every failed attempt to connect.
    this.client.on("error", this.failed);
    try {
      if (status === "wait") await this.client.connect();
      else await this.#becomesReady();
      // It goes on with database 0 when the one that was asked for is refused.
      if (/DB index|SELECT/.test(this.#lastError?.message ?? "")) throw this.#lastError;
    } catch (error) {
      // The client only says that the connection was closed; the event before it said why.
      throw this.#lastError ?? error;
    } finally {
      this.client.off("error", this.failed);
    }
  }

  duplicate(): RedisClient {
    const copy = this.cluster
      ? this.client.duplicate([], {
        lazyConnect: true,
        enableOfflineQueue: true,
        clusterRetryStrategy: (): null => null,
        redisOptions: {
          maxRetriesPerRequest: 0,
          autoResendUnfulfilledCommands: false,
          commandTimeout: undefined,
        },
      })
      : this.client.duplicate(BLOCKING);
    (copy as IoredisLike).on("error", () => {});
    return new Blocking(copy as IoredisLike, this.#prepare);
  }

  onConnection(listener: ConnectionListener): () => void {
    const up = (): void => listener(true);
    const down = (): void => listener(false, this.#lastError);
    this.client.on("error", this.failed);
    this.client.on("ready", up);
    this.client.on("close", down);
    this.client.on("end", down);
    return () => {
      this.client.off("error", this.failed);
      this.client.off("ready", up);
      this.client.off("close", down);
      this.client.off("end", down);
    };
  }

  close(): Promise<void> {
    const client = this.client;
    const { status } = client;
    if (status === "end") return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    client.on("end", () => resolve());
    client.disconnect();
    // Only a connection that is there tells its end.
    return status === "ready" || status === "connect" || status === "connecting"
      ? promise
      : Promise.resolve();
  }

  async #becomesReady(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const failed = (): void => reject(this.#lastError ?? new Error("Connection is closed."));
    const ready = (): void => resolve();
    this.client.on("ready", ready);
    this.client.on("end", failed);
    try {
      if (this.client.status === "end") failed();
      await promise;
    } finally {
      this.client.off("ready", ready);
      this.client.off("end", failed);
    }
  }
}

/** The transport's own connection: nobody minds when it is made anew. */
class Owned extends Ioredis {
  reconnect(cause: Error): void {
    this.failed(cause);
    this.client.disconnect(true);
  }
}

/** A connection that is always asked, since it connects with its first command. */
class Blocking extends Ioredis {
  override get connected(): boolean {
    return true;
  }
}

/** These clients send the decimal text of any other array of bytes. */
function writable(argument: RedisArgument): string | Buffer {
  return typeof argument === "string" || Buffer.isBuffer(argument)
    ? argument
    : Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength);
}

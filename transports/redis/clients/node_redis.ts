import { Buffer } from "node:buffer";
import type { ConnectionListener, RedisArgument, RedisClient, RedisReply } from "../client.ts";

/** How one command of node-redis is sent. */
export interface NodeRedisCommandOptions {
  /** Which class a type of reply becomes. */
  readonly typeMapping: Readonly<Record<number, unknown>>;
}

/**
 * The part of node-redis (the npm package `redis`, from version 5) that is used. Structural, so that
 * this package does not depend on it.
 */
export interface NodeRedisLike {
  /** Whether a command would be sent now; absent on a cluster. */
  readonly isReady?: boolean;
  /** Whether `connect` was called. */
  readonly isOpen?: boolean;
  /** Present on a cluster. */
  readonly masters?: unknown;
  /** Present from version 5 on. */
  withTypeMapping(mapping: never): unknown;
  /** Sends a command: on a client its words and options; on a cluster a key and whether it only reads come first. */
  sendCommand(...args: never[]): Promise<unknown>;
  /** Connects. */
  connect(): Promise<unknown>;
  /** Makes another one like it. */
  duplicate(overrides?: never): unknown;
  /** Disconnects at once. */
  destroy(): void;
  /** Listens to `ready`, `error` and `end`. */
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  /** Stops listening. */
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}

/** `$`, the type of a text of bytes in the protocol. */
const BLOB_STRING = 0x24;

/** Made once: the client compares it by identity. */
const BYTES: NodeRedisCommandOptions = Object.freeze({
  typeMapping: Object.freeze({ [BLOB_STRING]: Buffer }),
});

/**
 * Adapts a client or a cluster of node-redis, version 5 or newer. The client stays yours: it is not
 * closed with the transport. It must have an `error` listener of its own, as its documentation says.
 *
 * @param client What `createClient` or `createCluster` gave.
 * @returns The surface that the transport uses.
 */
export function nodeRedisClient(client: NodeRedisLike): RedisClient {
  return new NodeRedis(client);
}

type Send = (...args: unknown[]) => Promise<RedisReply>;

class NodeRedis implements RedisClient {
  readonly cluster: boolean;
  readonly #client: NodeRedisLike;
  #lastError: Error | undefined;

  constructor(client: NodeRedisLike) {
    this.#client = client;
    this.cluster = client.masters !== undefined;
  }

  get connected(): boolean {
    return this.#client.isReady ?? this.#client.isOpen ?? true;
  }

  call(args: readonly RedisArgument[], key?: string): Promise<RedisReply> {
    const words = args.map(writable);
    const send = this.#client.sendCommand.bind(this.#client) as unknown as Send;
    return this.cluster ? send(key, false, words, BYTES) : send(words, BYTES);
  }

  async connect(): Promise<void> {
    if (!this.#client.isOpen) await this.#client.connect();
  }

  duplicate(): RedisClient {
    const copy = this.#client.duplicate() as NodeRedisLike;
    // Without a listener an error of the connection would end the process.
    copy.on("error", () => {});
    return new Duplicate(copy);
  }

  onConnection(listener: ConnectionListener): () => void {
    const up = (): void => listener(true);
    const down = (error?: unknown): void => {
      if (error instanceof Error) this.#lastError = error;
      listener(false, this.#lastError);
    };
    this.#client.on("ready", up);
    this.#client.on("error", down);
    this.#client.on("end", down);
    return () => {
      this.#client.off("ready", up);
      this.#client.off("error", down);
      this.#client.off("end", down);
    };
  }

  close(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }
}

/** A second connection: it connects with its first command. */
class Duplicate extends NodeRedis {
  #connecting: Promise<void> | undefined;

  override get connected(): boolean {
    return true;
  }

  override async call(args: readonly RedisArgument[], key?: string): Promise<RedisReply> {
    await (this.#connecting ??= this.connect());
    return await super.call(args, key);
  }
}

/** This client refuses any other array of bytes. */
function writable(argument: RedisArgument): string | Buffer {
  return typeof argument === "string" || Buffer.isBuffer(argument)
    ? argument
    : Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength);
}

/**
 * What the transport needs of a Redis client: one command in, its reply as bytes out. Ready clients
 * are adapted to it; any other client can be, in a few lines.
 *
 * @module
 */

/** One word of a command. */
export type RedisArgument = string | Uint8Array;

/** What a command answers. Texts of the server are bytes; a status such as `OK` may be a string. */
export type RedisReply =
  | Uint8Array
  | string
  | number
  | bigint
  | null
  | readonly RedisReply[];

/** Called when the connection came up, or went down and why. */
export type ConnectionListener = (up: boolean, error?: Error) => void;

/**
 * The surface of a Redis client that the transport uses. It is structural, so that a client of any
 * kind and version serves: only `call` is needed, the rest makes it better.
 *
 * @example Adapt a client of your own
 * ```ts ignore
 * const bq = new BabelQueue(redis({ client: { call: (args) => mine.sendRaw(args) } }));
 * ```
 */
export interface RedisClient {
  /**
   * Sends one command and resolves with its reply. Replies of bytes have to stay bytes. It rejects
   * with the server's text (`WRONGTYPE …`) or with what happened to the connection.
   *
   * @param args The command and its arguments.
   * @param key A key of the command, to find the node of a cluster by.
   */
  call(args: readonly RedisArgument[], key?: string): Promise<RedisReply>;
  /** Connects; absent when the client does so by itself. */
  connect?(): Promise<void>;
  /**
   * A second connection of the same kind, for commands that block and for what is sent behind them, to
   * be run in this order. Without it an idle worker polls. The caller closes it.
   */
  duplicate?(): RedisClient;
  /** Disconnects at once; pending calls reject. */
  close?(): void | Promise<void>;
  /**
   * Drops the connection and makes it anew; called when answers are due and none has come for 10
   * seconds. Absent where the client looks after that, or where that is your business.
   *
   * @param cause What is reported as the reason.
   */
  reconnect?(cause: Error): void;
  /** Whether it speaks to a Redis Cluster. */
  readonly cluster?: boolean;
  /** Whether a command would be sent now; absent when the client does not say. */
  readonly connected?: boolean;
  /** Reports every change of the connection; the result ends that. */
  onConnection?(listener: ConnectionListener): () => void;
}

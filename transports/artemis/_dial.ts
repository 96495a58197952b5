/** Makes connections with rhea; one that was lost is never used again. */

import { connect as connectTcp, isIP, type Socket } from "node:net";
import { nextTick } from "node:process";
import { connect as connectTls } from "node:tls";
import { ConnectionError } from "@bq/core/transport";
import type { AmqpContext, RheaConnection } from "./_amqp.ts";
import { connectionError } from "./_errors.ts";
import type { Target } from "./options.ts";

/** A connection that both sides have opened. */
export interface Dialled {
  readonly connection: RheaConnection;
  /** Ends it without a word to the broker. */
  destroy(): void;
}

/** rhea wants the SASL layer, and takes it only with a name. */
const NOBODY = "anonymous";

/** What a broker opens with that is about to close. */
const REFUSED = "amqp:connection-establishment-failed";

type Connect = (port: number, host: string, options: unknown, connected: () => void) => Socket;

/**
 * Connects, logs in and opens.
 *
 * @param target Where to and how.
 * @param signal Calls it off.
 * @param lost Told once when the open connection is lost, and why.
 * @throws {ConnectionError} `fatal` for a refused login and a peer that speaks something else.
 */
export async function dial(
  target: Target,
  signal: AbortSignal,
  lost: (error: Error | undefined) => void,
): Promise<Dialled> {
  const { default: rhea } = await import("rhea");
  const doing = `connect to '${target.host}:${target.port}'`;
  const container = rhea.create_container(
    target.containerId === undefined ? {} : { id: target.containerId },
  );
  let socket: Socket | undefined;
  let cause: unknown;
  let state: "dialling" | "open" | "over" = "dialling";
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const note = (error: unknown): void => {
    cause ??= error;
  };
  const isOver = (): boolean => state === "over";
  const over = (): void => {
    const before = state;
    state = "over";
    if (before === "dialling") {
      reject(connectionError(doing, cause ?? new Error("the connection ended")));
    }
    if (before === "open") lost(cause === undefined ? undefined : connectionError(doing, cause));
  };
  const connect: Connect = (port, host, _options, connected) => {
    socket = target.tls === undefined ? connectTcp({ port, host }, connected) : connectTls(
      { ...(isIP(host) ? {} : { servername: host }), ...target.tls, port, host },
      connected,
    );
    joinWrites(socket);
    socket.on("error", note);
    // A socket that is destroyed tells nobody else.
    socket.on("close", over);
    return socket;
  };
  const connection = container.create_connection(
    {
      host: target.host,
      port: target.port,
      connect,
      username: target.username ?? NOBODY,
      ...(target.password === undefined ? {} : { password: target.password }),
      reconnect: false,
      idle_time_out: target.idleTimeoutMs,
      tcp_no_delay: true,
    } as never,
  ) as unknown as RheaConnection & { connect(): unknown };
  let destroyed = false;
  const destroy = (): void => {
    if (destroyed) return;
    destroyed = true;
    // rhea arms a timer behind whatever it tells.
    queueMicrotask(() => hangUp(connection, socket));
  };
  connection.on("connection_open", () => {
    // A broker that refuses says so by its open, and why by the close that follows.
    if (connection.properties?.[REFUSED] !== true) resolve();
  });
  connection.on("connection_error", ({ error }: AmqpContext) => note(error));
  connection.on("protocol_error", note);
  connection.on("error", note);
  connection.on("connection_close", () => {
    note(new Error("the broker closed the connection"));
    over();
    destroy();
  });
  connection.on("disconnected", ({ error }: AmqpContext) => {
    note(error);
    over();
    destroy();
  });
  // What nobody listens to ends here, instead of ending the process.
  container.on("error" as never, note as never);
  const abort = (): void => {
    note(new ConnectionError(`Cannot ${doing}: no answer in time`));
    over();
  };
  signal.addEventListener("abort", abort, { once: true });
  try {
    if (signal.aborted) abort();
    else connection.connect();
    await promise;
    // Its close may have come in one piece with its open.
    if (isOver()) throw connectionError(doing, cause ?? new Error("the connection ended"));
    state = "open";
    return { connection, destroy };
  } catch (error) {
    destroy();
    throw error instanceof ConnectionError ? error : connectionError(doing, error);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Lets what is written in one turn leave together: rhea writes every frame by itself, and a call of
 * the system for each costs more than all else.
 */
function joinWrites(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let joining = false;
  socket.write = (...args: unknown[]): boolean => {
    if (!joining) {
      joining = true;
      socket.cork();
      nextTick(() => {
        joining = false;
        socket.uncork();
      });
    }
    return write(...args);
  };
}

/** Closes a socket and the timers that rhea keeps for it. */
function hangUp(connection: RheaConnection, socket: Socket | undefined): void {
  if (socket === undefined) return;
  const { abort_socket } = connection as { abort_socket?: (socket: Socket) => void };
  abort_socket?.call(connection, socket);
  // The listeners are gone with that, and a late error without any would end the process.
  socket.on("error", () => {});
  socket.destroy();
}

/** Waits for the broker's answer to a close, then closes the socket. */
export async function hangUpInOrder(
  { connection, destroy }: Dialled,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  connection.on("connection_close", () => resolve());
  connection.on("disconnected", () => resolve());
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  connection.close();
  await promise;
  destroy();
}

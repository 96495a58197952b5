import amqp from "amqplib";
import type { RabbitConnection } from "./client.ts";
import type { ResolvedOptions } from "./options.ts";

/**
 * Opens a connection. Without `noDelay` a small write that follows another waits 40 ms for the answer to
 * the first on Deno and Node.
 *
 * @param options Where to, and how.
 * @param signal Cuts the socket while the connection is opened.
 */
export async function dial(
  options: ResolvedOptions,
  signal: AbortSignal,
): Promise<RabbitConnection> {
  const url = new URL(options.url);
  if (!url.searchParams.has("heartbeat")) {
    url.searchParams.set("heartbeat", `${options.heartbeatMs / 1_000}`);
  }
  // The client's types do not know the signal; it hands the socket whatever it gets.
  const socket = {
    keepAlive: true,
    ...options.socket,
    noDelay: true,
    signal,
    timeout: options.connectTimeoutMs,
  };
  try {
    return await amqp.connect(url.href, socket);
  } catch (error) {
    throw error ?? new Error("the connection ended while it was opened");
  }
}

/** The name that connections are logged in with, where the URL says it. */
export function userOf({ url, connection, socket }: ResolvedOptions): string | undefined {
  if (connection !== undefined || socket["credentials"]) return undefined;
  const { username } = new URL(url);
  try {
    return username === "" ? "guest" : decodeURIComponent(username);
  } catch {
    return undefined;
  }
}

/**
 * Ends a connection at once, without a word to the broker: one that does not answer would otherwise
 * keep the process alive until its heartbeat is missed.
 */
export function cut(connection: RabbitConnection): void {
  const { stream } = (connection as { connection?: { stream?: Stream } }).connection ?? {};
  stream?.destroy?.(new Error("the connection was given up"));
}

interface Stream {
  destroy?(error: Error): unknown;
}

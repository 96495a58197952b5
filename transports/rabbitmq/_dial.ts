import amqp from "amqplib";
import { BabelQueueError } from "@bq/core/transport";
import type { RabbitConnection } from "./client.ts";
import type { ResolvedOptions } from "./options.ts";

/**
 * Opens a connection. Without `noDelay` a small write that follows another waits 40 ms for the answer to
 * the first on Deno and Node.
 */
export async function dial(options: ResolvedOptions): Promise<RabbitConnection> {
  const url = new URL(options.url);
  if (!url.searchParams.has("heartbeat")) {
    url.searchParams.set("heartbeat", `${options.heartbeatMs / 1_000}`);
  }
  try {
    return await amqp.connect(url.href, {
      keepAlive: true,
      ...options.socket,
      noDelay: true,
      timeout: options.connectTimeoutMs,
    });
  } catch (error) {
    throw error ?? new BabelQueueError("connection", "the connection ended while it was opened");
  }
}

/** The name that a connection to this URL is logged in with. */
export function userOf({ url, connection }: ResolvedOptions): string | undefined {
  if (connection !== undefined) return undefined;
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

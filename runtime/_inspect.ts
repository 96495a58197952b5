/**
 * Looking at queues, on a connection that is opened when needed.
 *
 * @module
 */

import { BabelQueueError } from "../core/errors.ts";
import { checkOptions, integer, text } from "./option_checks.ts";
import type { Peeked, PeekOptions, QueueSize, Transport } from "./transport.ts";

const PEEK_CHECKS = { max: integer(1) };

/** The messages of a queue, as they are when each one is asked for. */
export async function* peekAt(
  transport: Transport,
  connect: () => Promise<void>,
  queue: string,
  options: PeekOptions,
): AsyncGenerator<Peeked, void, void> {
  text("queue", queue);
  checkOptions(options, PEEK_CHECKS);
  if (transport.peek === undefined) throw unsupported(transport, `look at '${queue}'`);
  await connect();
  yield* transport.peek(queue, options);
}

/** How many messages a queue holds. */
export async function sizeOf(
  transport: Transport,
  connect: () => Promise<void>,
  queue: string,
): Promise<QueueSize> {
  text("queue", queue);
  if (transport.size === undefined) throw unsupported(transport, `count '${queue}'`);
  await connect();
  return await transport.size(queue);
}

function unsupported({ name }: Transport, verb: string): BabelQueueError {
  return new BabelQueueError("unsupported", `Cannot ${verb}: '${name}' has no way to do it`);
}

/**
 * Looking at queues, on a connection that is opened when needed.
 *
 * @module
 */

import { BabelQueueError, ConnectionError } from "../core/errors.ts";
import type { Deadlines } from "./_deadlines.ts";
import { bounded, issue } from "./_waits.ts";
import type { Connection } from "./connection.ts";
import { checkOptions, integer, text } from "./option_checks.ts";
import type { Peeked, PeekOptions, QueueSize, Transport } from "./transport.ts";

const PEEK_CHECKS = { max: integer(1) };

/** Longest wait for each answer, in milliseconds. */
const PATIENCE_MS = 30_000;

/** What a look is taken through. */
export interface Inspection {
  readonly transport: Transport;
  readonly connection: Connection;
  readonly deadlines: Deadlines;
}

/** The messages of a queue, as they are when each one is asked for. */
export async function* peekAt(
  on: Inspection,
  queue: string,
  given: PeekOptions,
): AsyncGenerator<Peeked, void, void> {
  text("queue", queue);
  const options = checkOptions(given, PEEK_CHECKS);
  const what = `look at '${queue}'`;
  if (on.transport.peek === undefined) throw unsupported(on, what);
  await on.connection.connect();
  const messages = on.transport.peek(queue, options)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await answered(on, what, () => messages.next());
      if (done) return;
      yield value;
    }
  } finally {
    // One that hangs is not waited for.
    issue(async () => await messages.return?.()).catch(() => {});
  }
}

/** How many messages a queue holds. */
export async function sizeOf(on: Inspection, queue: string): Promise<QueueSize> {
  text("queue", queue);
  const what = `count '${queue}'`;
  if (on.transport.size === undefined) throw unsupported(on, what);
  await on.connection.connect();
  return await answered(on, what, () => on.transport.size!(queue));
}

/** Waits for an answer, at most 30 s and not beyond the end of the App. */
async function answered<T>(
  { connection, deadlines }: Inspection,
  what: string,
  call: () => Promise<T>,
): Promise<T> {
  const bounds = { deadlines, ms: PATIENCE_MS, signals: [connection.closing] };
  return await bounded(
    bounds,
    call,
    () =>
      connection.closed
        ? new BabelQueueError("closed", `Cannot ${what}: the App was closed`)
        : new ConnectionError(`Cannot ${what}: no answer within ${PATIENCE_MS} ms`),
  );
}

function unsupported({ transport: { name } }: Inspection, verb: string): BabelQueueError {
  return new BabelQueueError("unsupported", `Cannot ${verb}: '${name}' has no way to do it`);
}

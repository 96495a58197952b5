import { tracingChannel } from "node:diagnostics_channel";

/** The part of a command of ioredis that is used. */
interface Command {
  /** Whether tracers were told of it, or need not be. */
  isTraced?: boolean;
}

/** The part of ioredis' `Redis` and `Cluster` that is used. */
interface Sender {
  sendCommand(command: Command, stream?: unknown, node?: unknown): unknown;
}

/** Asked by name, so that nothing of ioredis has to be loaded; who listens shares it. */
const told = tracingChannel("ioredis:command");

/**
 * Whether ioredis cannot see that nobody listens: it asks a tracing channel as a whole, which under Bun
 * has no answer, and makes a text of every argument of every command in case somebody does.
 */
const blind = tracingChannel("@bq/redis:nobody").hasSubscribers !== false;

/** The five channels answer by themselves on every runtime. */
function heard(): boolean {
  return told.start.hasSubscribers || told.end.hasSubscribers || told.asyncStart.hasSubscribers ||
    told.asyncEnd.hasSubscribers || told.error.hasSubscribers;
}

/**
 * Spares the commands of this client their text for tracers while no tracer listens. ioredis has no
 * option for it, but a command that counts as traced is sent without; the mark is taken off again, so
 * that one which had to wait is told of if somebody listens when it is written. Where ioredis sees by
 * itself, or has no such mark, nothing changes; nor does it for the few commands that wait until a node
 * of a cluster is connected, which the node's own client writes.
 *
 * @param client It belongs to the transport alone.
 * @returns The same client.
 */
export function untraced<Client extends Sender>(client: Client): Client {
  if (!blind) return client;
  const send = client.sendCommand;
  client.sendCommand = (command, stream, node): unknown => {
    if (command.isTraced !== false || heard()) return send.call(client, command, stream, node);
    command.isTraced = true;
    try {
      return send.call(client, command, stream, node);
    } finally {
      command.isTraced = false;
    }
  };
  return client;
}

import { asError, ConnectionError } from "@bq/core/transport";

/** What the broker, the client or the runtime says when trying again cannot help: access refused, another declaration, no such virtual host or exchange type, no permission, no trusted certificate. */
const FATAL =
  /ACCESS[-_]REFUSED|NOT[-_]ALLOWED|NOT[-_]IMPLEMENTED|inequivalent arg|unknown exchange type|SASL mechanism|NotCapable|PermissionDenied|EPERM|self[- ]signed certificate|certificate has expired|altnames|unable to verify/i;

/** What goes by: a virtual host comes up a moment after the broker, and connections that are too many end. */
const PASSING = /vhost '.*' is down|limit .*reached|limit \(/;

/** The broker's code of an error, if it is the broker's. */
export function codeOf(error: unknown): number | undefined {
  const { code } = asError(error) as { code?: unknown };
  return typeof code === "number" ? code : undefined;
}

/** Whether something was used that is closed already; nothing was sent then. */
export function isClosedUse(error: unknown): boolean {
  return asError(error).name === "IllegalOperationError";
}

/** Whether all that an error says is that its channel is gone. */
export function isGone(error: unknown): boolean {
  return isClosedUse(error) || /^channel (ended|closed|closing)/i.test(asError(error).message);
}

/**
 * What a transport says about a connection that cannot be used.
 *
 * @param doing What could not be done, for instance `receive from 'orders'`.
 * @param error What the client or the broker said.
 */
export function connectionError(doing: string, error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error;
  const cause = asError(error);
  const { message } = cause;
  const fatal = FATAL.test(`${cause.name}: ${message}`) && !PASSING.test(message);
  return new ConnectionError(`Cannot ${doing}: ${message}${hintFor(message)}`, { cause, fatal });
}

function hintFor(message: string): string {
  if (/inequivalent arg/.test(message)) {
    return "; the queue exists with other arguments: name these in the option 'declare', or leave it out";
  }
  if (/x-delayed-message/.test(message)) {
    return "; the plugin rabbitmq_delayed_message_exchange is not enabled";
  }
  return "";
}

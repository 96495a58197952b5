import { ConnectionError, messageOf } from "@bq/core/transport";

/** A command that was not sent, since there is no connection. */
export class UnsentError extends ConnectionError {}

/** Answers after which trying again cannot help. */
const FATAL =
  /^(WRONGPASS|NOAUTH|NOPERM|DENIED|NOPROTO|MOVED|CROSSSLOT)\b|unknown (redis )?command|DB index|invalid password|no password is set|SELECT is not allowed|ACL failure in script|user executing the script can't/i;

/** What to do about answers that do not say it. */
const HINTS: readonly (readonly [answer: RegExp, hint: string])[] = [
  [/^MOVED\b/, "the server is part of a Redis Cluster, which wants the option 'cluster'"],
  [
    /^CROSSSLOT\b/,
    "the server is part of a Redis Cluster, which wants the option 'cluster' and a hash tag in the " +
    "name of each queue, for instance '{orders}'",
  ],
  [
    /user executing the script can't/,
    "the server does not say which; every command and key pattern that the scripts need is in the " +
    "documentation under 'Permissions'",
  ],
];

/** Answers of a server that will be of use again soon. */
const TRANSIENT = /^(LOADING|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|UNBLOCKED|ASK)\b/;

/** Whether the server answered, instead of the connection being in trouble. */
export function isAnswer(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof ConnectionError) return false;
  if (error.name === "ReplyError") return true;
  return !("code" in error) && /^[A-Z][A-Z0-9]+(?: |$)/.test(error.message);
}

/** Whether a command that ended like this may be sent once more. */
export function isTransient(error: unknown): boolean {
  return !isAnswer(error) || TRANSIENT.test(messageOf(error));
}

/** Whether a run of a script met a server that does not know it. */
export function isUnknownScript(error: unknown): boolean {
  return messageOf(error).startsWith("NOSCRIPT");
}

/**
 * What a transport says about a connection that cannot be used.
 *
 * @param doing What could not be done, for instance `receive from 'orders'`.
 * @param error What the client or the server said.
 */
export function connectionError(doing: string, error: unknown): ConnectionError {
  if (error instanceof ConnectionError) return error;
  const text = messageOf(error);
  const fatal = FATAL.test(text);
  const hint = HINTS.find(([answer]) => answer.test(text))?.[1];
  const message = `Cannot ${doing}: ${text}${hint === undefined ? "" : `; ${hint}`}`;
  return new ConnectionError(message, { cause: error, fatal });
}

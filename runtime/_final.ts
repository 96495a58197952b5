import { attempt, codeOf } from "../core/thrown.ts";
import type { ConnectionError } from "../core/errors.ts";

/** Codes of mistakes in the program: the next try meets them again. */
const MISTAKES: readonly string[] = ["closed", "invalid_option", "unsupported"];

/** Names of what Deno throws when the process has no permission: asking again does not grant one. */
const REFUSALS: readonly string[] = ["NotCapable", "PermissionDenied"];

/** Whether trying again cannot help. */
export function isFinal(error: Error): boolean {
  // An error that cannot be looked at says nothing.
  if (attempt(() => isRefusal(error))) return true;
  const code = codeOf(error);
  if (code === "connection") return attempt(() => (error as ConnectionError).fatal) === true;
  // A client's own errors may have such a code too.
  return MISTAKES.includes(code as string) && attempt(() => error.name) === "BabelQueueError";
}

/** What is looked at of an error that may come from the runtime. */
interface SystemError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
}

/** Errors that are looked at behind an error. */
const DEEPEST_CAUSE = 8;

/** Whether the runtime itself refused, however often a client or a transport wrapped that. */
function isRefusal(error: unknown): boolean {
  let cause = error as SystemError | null | undefined;
  for (let depth = 0; cause && depth < DEEPEST_CAUSE; depth++) {
    if (REFUSALS.includes(cause.name as string)) return true;
    // What Deno makes of it where a client looks up a host name through `node:dns`.
    if (cause.code === "EPERM" && cause.syscall === "getaddrinfo") return true;
    cause = cause.cause as typeof cause;
  }
  return false;
}

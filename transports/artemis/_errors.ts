import { BabelQueueError, ConnectionError } from "@bq/core/transport";
import type { AmqpError } from "./_amqp.ts";

/** Conditions and texts after which trying again cannot help. */
const FATAL = new RegExp(
  [
    "^amqp:(unauthorized-access|not-allowed|not-implemented|invalid-field)\\b",
    "authenticat|No suitable mechanism|SASL",
    "does not have permission",
    "Unsupported AMQP version|Invalid protocol header|Invalid AMQP protocol",
    // What a certificate is refused with, by OpenSSL and by rustls.
    "certificate|CERT_|UNABLE_TO_",
    // What the system, or Deno, does not permit.
    "NotCapable|Requires net access|\\bE(PERM|ACCES)\\b",
  ].join("|"),
  "i",
);

/** The text of whatever was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error of the broker as a JavaScript error: `condition: description`. */
export function brokerError(error: AmqpError | undefined, otherwise: string): Error {
  const parts = [error?.condition, error?.description].filter((part) => part);
  return new Error(parts.length === 0 ? otherwise : parts.join(": "));
}

/**
 * What a transport says about a connection or a link that cannot be used.
 *
 * @param doing What could not be done, for instance `receive from 'orders'`.
 * @param error What the client or the broker said.
 */
export function connectionError(doing: string, error: unknown): ConnectionError {
  if (error instanceof ConnectionError) {
    if (error.message.startsWith(`Cannot ${doing}`)) return error;
    const message = `Cannot ${doing}: ${error.message.replace(/^Cannot /, "cannot ")}`;
    return new ConnectionError(message, { cause: error, fatal: error.fatal });
  }
  const { condition, code, name } = error as { condition?: string; code?: string; name?: string };
  const text = textOf(error) || String(code ?? condition ?? "no connection");
  const fatal = [text, condition, code, name].some((part) => part && FATAL.test(part));
  const why = condition && !text.includes(condition) ? `${condition}: ${text}` : text;
  return new ConnectionError(`Cannot ${doing}: ${why}`, { cause: error, fatal });
}

/** What is closed, or not yet open, refuses work. */
export function closedError(verb: string, what: string): BabelQueueError {
  return new BabelQueueError("closed", `Cannot ${verb}: ${what}`);
}

import { ConnectionError, messageOf } from "@bq/core/transport";
import type { AmqpError } from "./_amqp.ts";

/** Conditions of a broker after which trying again cannot help. */
const FATAL_CONDITION = /^amqp:(unauthorized-access|not-allowed|not-implemented|invalid-field)$/;
/**
 * A missing permission, under whatever condition. Queues and hosts may be named like anything, so that
 * texts are anchored.
 */
const NO_PERMISSION = /^(amqp:[a-z-]+: )?(AMQ\d+: )?User: \S+ does not have permission=/;

/** Codes of the system and of TLS after which trying again cannot help. */
const FATAL_CODE = new RegExp(
  [
    "^E(PERM|ACCES)$",
    "^(CERT_|UNABLE_TO_|ERR_TLS_CERT_|ERR_SSL_\\w*CERTIFICATE)",
    "^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|HOSTNAME_MISMATCH|INVALID_CA)$",
  ].join("|"),
);
/** Texts of rhea, of OpenSSL and rustls, and of Deno that come without such a code. */
const FATAL_TEXT = new RegExp(
  [
    "^(Unsupported AMQP version|Invalid protocol header|Invalid AMQP protocol)",
    "^(invalid peer certificate|self[- ]signed certificate|certificate (has expired|is not|not |unknown))",
    "^(unable to (get|verify) |Hostname/IP does not match certificate)",
    "^received fatal alert: (\\w*Certificate\\w*|UnknownCA)",
    "^(NotCapable|Requires net access)\\b",
  ].join("|"),
);

/** An error of the broker as a JavaScript error: `condition: description`, and the condition alone. */
export function brokerError(error: AmqpError | undefined, otherwise: string): Error {
  const parts = [error?.condition, error?.description].filter((part) => part);
  const text = parts.length === 0 ? otherwise : parts.join(": ");
  return Object.assign(new Error(text), { condition: error?.condition ?? "" });
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
  const { condition, code } = error as { condition?: string; code?: string };
  const text = messageOf(error) || String(code ?? condition ?? "no connection");
  const fatal = isFatal(error as object, text);
  const why = condition && !text.includes(condition) ? `${condition}: ${text}` : text;
  return new ConnectionError(`Cannot ${doing}: ${why}`, { cause: error, fatal });
}

/** What a broker says is judged by its condition, and the rest by code and text. */
function isFatal(
  { condition, code, name }: { condition?: string; code?: string; name?: string },
  text: string,
): boolean {
  if (condition !== undefined) return FATAL_CONDITION.test(condition) || NO_PERMISSION.test(text);
  return name === "NotCapable" || FATAL_TEXT.test(text) || FATAL_CODE.test(String(code ?? ""));
}

/**
 * What was thrown, described: anything may be thrown, and nothing here throws because of it.
 *
 * @module
 */

/** An error as it is, and an error that describes anything else that was thrown. */
export function asError(thrown: unknown): Error {
  return isA(thrown, Error) ? thrown : new Error(messageOf(thrown), { cause: thrown });
}

/** `instanceof`, which a proxy can make throw. */
export function isA<T>(thrown: unknown, type: abstract new (...args: never[]) => T): thrown is T {
  return attempt(() => thrown instanceof type) ?? false;
}

/** The `code` of an error; undefined without one. Another copy of this library makes errors of other classes, with the same codes. */
export function codeOf(thrown: unknown): unknown {
  return attempt(() => (thrown as { code?: unknown }).code);
}

/** The message of an error, or the text of anything else that was thrown. */
export function messageOf(thrown: unknown): string {
  const message = attempt(() => (thrown as { message?: unknown }).message);
  if (isObject(thrown) && typeof message === "string") return message;
  return attempt(() => String(thrown)) ?? attempt(() => Object.prototype.toString.call(thrown)) ??
    "unknown error";
}

/** The name of an error's type, or of the type of anything else that was thrown. */
export function typeNameOf(thrown: unknown): string {
  if (!isObject(thrown)) return typeof thrown;
  const name = attempt(() => (thrown as { name?: unknown }).name);
  if (typeof name === "string" && name !== "") return name;
  const constructed = attempt(() => (thrown.constructor as { name?: unknown }).name);
  return typeof constructed === "string" && constructed !== "" ? constructed : "Object";
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** Runs code of somebody else: getters, `toString`, proxies. What it throws is undefined. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

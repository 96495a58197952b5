/**
 * How options are checked, here and in transports: by name, once, with exact messages.
 *
 * @module
 */

import { BabelQueueError } from "../core/errors.ts";

/** Checks one option's value; throws `invalid_option`. */
export type OptionCheck = (name: string, value: unknown) => void;

const LARGEST = Number.MAX_SAFE_INTEGER;

/**
 * Refuses an option's value.
 *
 * @param name The option.
 * @param value What was given.
 * @param bound What it must be.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 */
export function refuseOption(name: string, value: unknown, bound: string): never {
  throw new BabelQueueError(
    "invalid_option",
    `Cannot set option '${name}' to ${describe(value)}: it must be ${bound}`,
  );
}

function describe(value: unknown): string {
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "object" && value !== null) {
    return Array.isArray(value) ? "an array" : "an object";
  }
  if (typeof value === "function") return "a function";
  return String(value);
}

/**
 * An integer of at least `min`.
 *
 * @param min The least value.
 * @returns The check.
 */
export function integer(min: number): OptionCheck {
  return (name, value) => {
    if (!Number.isSafeInteger(value) || (value as number) < min) {
      refuseOption(name, value, `an integer from ${min} to ${LARGEST}`);
    }
  };
}

/**
 * Milliseconds, fractions allowed, of at least `min`.
 *
 * @param min The least value.
 * @returns The check.
 */
export function duration(min: number): OptionCheck {
  return (name, value) => {
    if (typeof value !== "number" || !(value >= min) || value > LARGEST) {
      refuseOption(name, value, `a number of milliseconds from ${min} to ${LARGEST}`);
    }
  };
}

/**
 * One of some strings.
 *
 * @param values The strings.
 * @returns The check.
 */
export function oneOf(...values: readonly string[]): OptionCheck {
  return (name, value) => {
    if (!values.includes(value as string)) refuseOption(name, value, `one of ${values.join(", ")}`);
  };
}

/** True or false. */
export const flag: OptionCheck = (name, value) => {
  if (typeof value !== "boolean") refuseOption(name, value, "true or false");
};
/** A string that is not empty. */
export const text: OptionCheck = (name, value) => {
  if (typeof value !== "string" || value === "") {
    refuseOption(name, value, "a string that is not empty");
  }
};
/** A function. */
export const callable: OptionCheck = (name, value) => {
  if (typeof value !== "function") refuseOption(name, value, "a function");
};
/** Checks an option that is an `AbortSignal`, of this realm or another. */
export const abortSignal: OptionCheck = (name, value) => {
  const candidate = value as Partial<AbortSignal> | null;
  if (
    typeof candidate?.aborted !== "boolean" || typeof candidate.addEventListener !== "function"
  ) {
    refuseOption(name, value, "an AbortSignal");
  }
};

/**
 * Checks an options object: every name known, every value in bounds. `undefined` means not set.
 *
 * Each option is read once, be it the object's own or one of its class, so that what is used is what
 * was checked.
 *
 * @param options What was given.
 * @param checks One check a known option.
 * @param prefix Put before a name in messages.
 * @returns A plain object of the options that are set.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 */
export function checkOptions<Options>(
  options: Options,
  checks: { readonly [name: string]: OptionCheck },
  prefix: string = "",
): Options {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    refuseOption(prefix.replace(/\.$/, "") || "options", options, "an object");
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(checks, name)) {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot set option '${prefix}${name}': the options here are ${
          Object.keys(checks).join(", ")
        }`,
      );
    }
  }
  const read: Record<string, unknown> = {};
  for (const name of Object.keys(checks)) {
    const value = (options as Record<string, unknown>)[name];
    if (value === undefined) continue;
    checks[name]!(prefix + name, value);
    read[name] = value;
  }
  return read as Options;
}

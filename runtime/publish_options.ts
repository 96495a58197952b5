/**
 * The options of a publish, and their checks.
 *
 * @module
 */

import type { MessageDefinition } from "./message.ts";
import { abortSignal, duration, type OptionCheck, refuseOption, text } from "./option_checks.ts";

/** Options of a publish that are not about the message itself. */
export interface SendOptions {
  /**
   * Time until the publish fails, in milliseconds, schema and connecting included. Nothing is sent any
   * more once a tenth of it, at most a second, is left.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number;
  /**
   * Ends the publish early; the broker's answer is waited for a second longer.
   *
   * @default {undefined}
   */
  readonly signal?: AbortSignal;
}

/** Where and how one message is published. */
export interface MessageOptions {
  /**
   * Queue to publish to.
   *
   * @default {the App's queue}
   */
  readonly queue?: string;
  /**
   * Kafka record key, FIFO group, session or Pulsar key, where the broker has one. Null and empty are
   * different.
   *
   * @default {undefined}
   */
  readonly key?: string | Uint8Array | null;
  /**
   * Wait before the first delivery, in milliseconds.
   *
   * @default {0}
   */
  readonly delayMs?: number;
  /**
   * Headers beside the body; entries with an empty name or value are dropped, and so are all where
   * the broker has no place for them. Contract: C303–C305.
   *
   * @default {undefined}
   */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Id of the causal chain to continue.
   *
   * @default {a new UUID}
   */
  readonly traceId?: string;
  /**
   * Extension members of `meta`, for instance `{ ext: { acme: { tenant: 7 } } }`. Contract: C51.
   *
   * @default {undefined}
   */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Options of `publish`. */
export interface PublishOptions extends MessageOptions, SendOptions {}

/** One message of a `publishMany`. */
export interface PublishItem<Input = object> extends MessageOptions {
  /** The URN, or the definition. */
  readonly message: string | MessageDefinition<Input, unknown>;
  /** The data. */
  readonly data: Input;
}

/** Options of `publishRaw`. */
export interface PublishRawOptions extends SendOptions {
  /** As for `publish`. */
  readonly key?: string | Uint8Array | null;
  /** As for `publish`. */
  readonly delayMs?: number;
  /** As for `publish`. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Checks<Options> = { readonly [Name in keyof Required<Options>]: OptionCheck };

const anything: OptionCheck = () => {};
const anyObject: OptionCheck = (name, value) => {
  if (typeof value !== "object" || value === null) refuseOption(name, value, "an object");
};
const anyText: OptionCheck = (name, value) => {
  if (typeof value !== "string") refuseOption(name, value, "a string");
};
const key: OptionCheck = (name, value) => {
  if (value !== null && typeof value !== "string" && !(value instanceof Uint8Array)) {
    refuseOption(name, value, "a string, bytes or null");
  }
};
/** An object of another class may keep its entries where nobody looks. */
const plainObject: OptionCheck = (name, value) => {
  if (isPlain(value)) return;
  refuseOption(name, value, "a plain object; Object.fromEntries makes one of Headers or a Map");
};

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Of another realm it has another `Object.prototype`.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** One check an option of `publishMany`. */
export const SEND_CHECKS: Checks<SendOptions> = { timeoutMs: duration(1), signal: abortSignal };
/** One check an option of `publishRaw`. */
export const RAW_CHECKS: Checks<PublishRawOptions> = {
  key,
  delayMs: duration(0),
  headers: plainObject,
  ...SEND_CHECKS,
};
/** One check an option of `publish`. */
export const PUBLISH_CHECKS: Checks<PublishOptions> = {
  ...RAW_CHECKS,
  queue: text,
  traceId: anyText,
  meta: anyObject,
};
/** One check a member of an item of `publishMany`. */
export const ITEM_CHECKS: Checks<PublishItem & PublishOptions> = {
  ...PUBLISH_CHECKS,
  message: anything,
  data: anything,
};

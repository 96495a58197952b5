/**
 * Options of the RabbitMQ transport.
 *
 * @module
 */

import {
  BabelQueueError,
  checkOptions,
  duration,
  flag,
  integer,
  oneOf,
  type OptionCheck,
  refuseOption,
  text,
} from "@bq/core/transport";
import type { RabbitConnection } from "./client.ts";

/**
 * More for the sockets of a connection, handed to amqplib as they are; for instance `ca`, `cert`, `key`,
 * `servername`, `clientProperties`. `noDelay` is always true, and `timeout` and `signal` are the
 * transport's own.
 */
export interface ConnectionOptions {
  /** One of them. */
  readonly [option: string]: unknown;
}

/** How a queue is declared. */
export interface QueueOptions {
  /**
   * Arguments of the declaration, for instance `{ "x-queue-type": "quorum" }`. A queue that exists with
   * others is then refused by the broker. Dead-letter and delay queues take over `x-queue-type` alone.
   *
   * @default {{}}
   */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** Options of {@linkcode rabbitmq}. Give a `url`, or a `connection` of your own. */
export interface RabbitmqOptions {
  /**
   * Where the broker is: `amqp://`, or `amqps://` for TLS; its path is the virtual host. Its query may
   * hold what amqplib reads, for instance `heartbeat` in seconds. Contract: Q15.
   *
   * @default {"amqp://guest:guest@localhost:5672"}
   */
  readonly url?: string;
  /**
   * A ready connection of amqplib. It stays yours, so it is not closed with the transport. Make it with
   * `noDelay: true`, or every answer takes 40 ms longer on Deno and Node, and with `recovery: true`, or
   * its loss ends the work. Contract: G53.
   *
   * @default {undefined}
   */
  readonly connection?: RabbitConnection;
  /**
   * More for the sockets that the transport opens.
   *
   * @default {{}}
   */
  readonly socket?: ConnectionOptions;
  /**
   * How long the other side may be silent before it is asked for a sign of life, in milliseconds, of
   * whole seconds; after two such times without one the connection counts as lost. 0 for never.
   *
   * @default {20000}
   */
  readonly heartbeatMs?: number;
  /**
   * Longest time until a connection stands, in milliseconds.
   *
   * @default {10000}
   */
  readonly connectTimeoutMs?: number;
  /**
   * Most published messages that are unconfirmed at a time; further ones wait. 1 awaits each. Together
   * they hold no more than 16 MiB, unless one alone does. Contract: Q9.
   *
   * @default {1000}
   */
  readonly maxUnconfirmed?: number;
  /**
   * `consume`: the broker pushes into a window of `prefetch` messages. `get`: one message is fetched at
   * a time. Contract: Q6.
   *
   * @default {"consume"}
   */
  readonly receive?: "consume" | "get";
  /**
   * Wait after an empty `get`, in milliseconds.
   *
   * @default {1000}
   */
  readonly pollIntervalMs?: number;
  /**
   * What happens to queues before they are used. An object declares work queues as it says: durable, not
   * exclusive, not deleted by themselves. `passive` only looks whether they exist; where a delay queue
   * does not, the worker holds a delayed retry. `false` does nothing at all, so that it always does. By
   * default a queue that exists is used as it is, whatever its arguments, and one that does not is
   * declared without any; dead-letter and delay queues that exist are used as they are always.
   * Contract: Q3.
   *
   * @default {undefined}
   */
  readonly declare?: false | "passive" | QueueOptions;
  /**
   * Name of an exchange of the plugin `rabbitmq_delayed_message_exchange`, through which delayed
   * publishes and retries go. It is declared and the queues are bound to it, as `declare` says.
   * Contract: Q5.
   *
   * @default {undefined}
   */
  readonly delayExchange?: string;
  /**
   * Delays publishes through the delay queues that retries use, rounded up to the next of their times.
   * Without it and without `delayExchange` a delayed publish is refused. Contract: Q5.
   *
   * @default {false}
   */
  readonly delayQueues?: boolean;
}

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly url: string;
  readonly connection: RabbitConnection | undefined;
  readonly socket: ConnectionOptions;
  readonly heartbeatMs: number;
  readonly connectTimeoutMs: number;
  readonly maxUnconfirmed: number;
  readonly receive: "consume" | "get";
  readonly pollIntervalMs: number;
  readonly declare: false | "passive" | QueueOptions | undefined;
  readonly delayExchange: string | undefined;
  readonly delayQueues: boolean;
}

const object: OptionCheck = (name, value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuseOption(name, value, "an object");
  }
};

const ARGUMENTS: OptionCheck = (name, value) => {
  object(name, value);
  for (const [argument, given] of Object.entries(value as object)) {
    const isPlain = typeof given === "number"
      ? Number.isFinite(given)
      : typeof given === "string" || typeof given === "boolean";
    if (!isPlain) refuseOption(`${name}.${argument}`, given, "a string, a number or a boolean");
  }
};

/** What amqplib reads of a URL as numbers. */
const NUMBERS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "heartbeat",
  "channelMax",
  "frameMax",
  "maxFrameSize",
]);

const CHECKS: { readonly [K in keyof Required<RabbitmqOptions>]: OptionCheck } = {
  url: (name, value) => {
    text(name, value);
    if (!/^amqps?:\/\//.test(value as string) || !URL.canParse(value as string)) {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot use option '${name}': it must be a URL of the form amqp://user:password@host:port/vhost`,
      );
    }
    for (const [option, given] of new URL(value as string).searchParams) {
      if (Object.hasOwn(CHECKS, option)) {
        refuseOption(`${name} ${option}`, given, "given as an option, not in the URL");
      }
      if (NUMBERS.has(option) && !/^[0-9]+$/.test(given)) {
        refuseOption(`${name} ${option}`, given, "a whole number");
      }
    }
  },
  connection: (name, value) => {
    const candidate = value as Partial<RabbitConnection> | null;
    if (
      typeof candidate?.createConfirmChannel !== "function" || typeof candidate.on !== "function"
    ) {
      refuseOption(name, value, "a connection of amqplib, as its connect() gives it");
    }
  },
  socket: object,
  heartbeatMs: (name, value) => {
    integer(0)(name, value);
    const ms = value as number;
    if (ms % 1_000 !== 0 || ms > 65_535_000) {
      refuseOption(name, value, "whole seconds, in milliseconds, up to 65535000");
    }
  },
  connectTimeoutMs: duration(1),
  maxUnconfirmed: integer(1),
  receive: oneOf("consume", "get"),
  pollIntervalMs: duration(1),
  declare: (name, value) => {
    if (value === false || value === "passive") return;
    if (typeof value !== "object" || value === null) {
      refuseOption(name, value, "false, 'passive' or an object");
    }
    checkOptions(value, { arguments: ARGUMENTS }, `${name}.`);
  },
  delayExchange: text,
  delayQueues: flag,
};

/**
 * Checks the options and fills in the defaults.
 *
 * @param given What was given.
 * @returns Every option, set.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 */
export function resolveOptions(given: RabbitmqOptions): ResolvedOptions {
  const options = checkOptions(given, CHECKS);
  refuseBoth(options, "url", "connection", "each of them says where the broker is");
  for (const own of ["socket", "heartbeatMs", "connectTimeoutMs"] as const) {
    refuseBoth(options, own, "connection", "a ready connection has its own");
  }
  refuseBoth(options, "delayExchange", "delayQueues", "each of them says how to delay");
  if (options.delayQueues && options.declare === false) {
    throw new BabelQueueError(
      "invalid_option",
      "Cannot use option 'delayQueues' with 'declare: false': delay queues have to be declared",
    );
  }
  return {
    url: options.url ?? "amqp://guest:guest@localhost:5672",
    connection: options.connection,
    socket: options.socket ?? {},
    heartbeatMs: options.heartbeatMs ?? 20_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
    maxUnconfirmed: options.maxUnconfirmed ?? 1_000,
    receive: options.receive ?? "consume",
    pollIntervalMs: options.pollIntervalMs ?? 1_000,
    declare: options.declare,
    delayExchange: options.delayExchange,
    delayQueues: options.delayQueues ?? false,
  };
}

function refuseBoth(
  options: RabbitmqOptions,
  one: keyof RabbitmqOptions,
  other: keyof RabbitmqOptions,
  why: string,
): void {
  if ([options[one], options[other]].some((value) => value === undefined || value === false)) {
    return;
  }
  throw new BabelQueueError(
    "invalid_option",
    `Cannot use the options '${one}' and '${other}' together: ${why}`,
  );
}

/**
 * Options of the Artemis transport, and what of them a URL says.
 *
 * @module
 */

import {
  BabelQueueError,
  checkOptions,
  duration,
  flag,
  type OptionCheck,
  refuseOption,
  text,
} from "@bq/core/transport";
import type { AmqpConnection } from "./client.ts";

/** Options of `tls.connect`, handed on as they are; for instance `ca`, `cert`, `key`, `servername`. */
export interface TlsOptions {
  /** One of them. */
  readonly [option: string]: unknown;
}

/** Options of {@linkcode artemis}. Give a `url`, or a `connection` of your own. */
export interface ArtemisOptions {
  /**
   * Where the broker's AMQP acceptor is: `artemis://`, or `artemis+ssl://` for TLS, with user and
   * password where it wants them. Contract: X17.
   *
   * @default {"artemis://localhost:5672"}
   */
  readonly url?: string;
  /**
   * A ready connection of rhea. It stays yours, so it is not closed with the transport; whether and
   * when it reconnects is yours too.
   *
   * @default {undefined}
   */
  readonly connection?: AmqpConnection;
  /**
   * User, instead of the URL's. Without one the login is anonymous.
   *
   * @default {undefined}
   */
  readonly username?: string;
  /**
   * Password, instead of the URL's.
   *
   * @default {undefined}
   */
  readonly password?: string;
  /**
   * Options for TLS, which is used with `artemis+ssl://`.
   *
   * @default {{}}
   */
  readonly tls?: TlsOptions;
  /**
   * Name under which the broker lists the connection.
   *
   * @default {a random UUID}
   */
  readonly containerId?: string;
  /**
   * A broker from which nothing was heard for twice this time counts as gone, in milliseconds; at most
   * 1,073,741,823.
   *
   * @default {15000}
   */
  readonly idleTimeoutMs?: number;
  /**
   * Whether the broker can schedule messages, as Artemis can, ActiveMQ Classic with its scheduler, and
   * Qpid in queues that hold. Without it a delayed publish is refused, and the worker itself holds what
   * is to be retried later.
   *
   * @default {true}
   */
  readonly scheduler?: boolean;
}

/** Where and how a connection of this package's own is made. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** Undefined without TLS. */
  readonly tls: TlsOptions | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly containerId: string | undefined;
  readonly idleTimeoutMs: number;
}

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly target: Target;
  readonly connection: AmqpConnection | undefined;
  readonly scheduler: boolean;
}

const PLAIN_PORT = 5672;
const TLS_PORT = 5671;
/** Twice that is waited, and a longer timer would fire at once. */
const LONGEST_IDLE_MS = 2 ** 30 - 1;

const object: OptionCheck = (name, value) => {
  if (typeof value !== "object" || value === null) refuseOption(name, value, "an object");
};

const CHECKS: { readonly [K in keyof Required<ArtemisOptions>]: OptionCheck } = {
  url(name, value) {
    text(name, value);
    // The value is not shown, since it may hold a password.
    const refuse = (bound: string): never => {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot use option '${name}': it must be ${bound}`,
      );
    };
    const url = value as string;
    if (!/^artemis(\+ssl)?:\/\//.test(url) || !URL.canParse(standIn(url))) {
      refuse("a URL of the form artemis://host:port or artemis+ssl://host:port");
    }
    const { username, password, pathname, search, hash } = parse(url);
    if (decoded(username) === undefined || decoded(password) === undefined) {
      refuse("a URL whose user and password are percent-encoded, with %25 for a percent sign");
    }
    if (!/^\/?$/.test(pathname) || search !== "" || hash !== "") {
      refuse("a URL that ends with the port; the queue is an option of BabelQueue");
    }
  },
  connection(name, value) {
    const { create_session, is_open, on } = (value ?? {}) as Partial<AmqpConnection>;
    if ([create_session, is_open, on].some((member) => typeof member !== "function")) {
      refuseOption(name, value, "a connection of rhea");
    }
  },
  username: text,
  password: (name, value) => {
    if (typeof value !== "string") {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot use option '${name}': it must be a string`,
      );
    }
  },
  tls: object,
  containerId: text,
  idleTimeoutMs: (name, value) => {
    duration(1)(name, value);
    if ((value as number) > LONGEST_IDLE_MS) {
      refuseOption(name, value, `at most ${LONGEST_IDLE_MS} ms, since timers take 31 bits`);
    }
  },
  scheduler: flag,
};

/** The URL under a scheme that every runtime knows, so that host and port are parsed alike. */
function standIn(url: string): string {
  return url.replace(/^artemis(\+ssl)?:/, "http:");
}

function parse(url: string): URL {
  return new URL(standIn(url));
}

/**
 * Checks the options, reads the URL, and fills in the defaults.
 *
 * @param given What was given.
 * @returns Every option, set.
 * @throws {BabelQueueError} `invalid_option`, naming option and bound.
 */
export function resolveOptions(given: ArtemisOptions): ResolvedOptions {
  const options = checkOptions(given, CHECKS);
  const { url = "artemis://localhost", connection, scheduler = true } = options;
  if (connection !== undefined) refuseBeside(options);
  const { hostname, username, password } = parse(url);
  const secure = url.startsWith("artemis+ssl:");
  if (options.tls !== undefined && !secure) {
    throw new BabelQueueError(
      "invalid_option",
      "Cannot set option 'tls': TLS is used with a URL of the form artemis+ssl://host:port",
    );
  }
  return {
    connection,
    scheduler,
    target: {
      host: hostname.replace(/^\[|\]$/g, ""),
      port: portOf(url) ?? (secure ? TLS_PORT : PLAIN_PORT),
      tls: secure ? options.tls ?? {} : undefined,
      username: options.username ?? (decoded(username) || undefined),
      password: options.password ?? (decoded(password) || undefined),
      containerId: options.containerId,
      idleTimeoutMs: options.idleTimeoutMs ?? 15_000,
    },
  };
}

/** Undefined when a percent sign stands for nothing. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Port 80 is the default of the scheme that stands in, and is left out there. */
function portOf(url: string): number | undefined {
  const { port } = parse(url);
  if (port !== "") return Number(port);
  return /^[^/]*\/\/[^/]*:0*80\/?$/.test(url) ? 80 : undefined;
}

/** What says how to connect says nothing about a connection that is there. */
function refuseBeside(options: ArtemisOptions): void {
  const beside = Object.keys(options).find((name) => name !== "connection" && name !== "scheduler");
  if (beside === undefined) return;
  throw new BabelQueueError(
    "invalid_option",
    `Cannot set option '${beside}' beside 'connection': the connection is made already`,
  );
}

/**
 * Options of the Kafka transport, and what of them a URL can say.
 *
 * @module
 */

import {
  BabelQueueError,
  checkOptions,
  duration,
  flag,
  integer,
  type OptionCheck,
  refuseOption,
  text,
} from "@bq/core/transport";
import type { KafkaClientLike } from "./clients/adapt.ts";
import { checkTiers } from "./tiers.ts";

/** Options of kafkajs, handed on as they are; for instance `ssl`, `sasl`, `clientId`, `requestTimeout`. */
export interface ConnectionOptions {
  /** One of them. */
  readonly [option: string]: unknown;
}

/** What a member of a consumer group needs; all times in milliseconds. */
export interface GroupOptions {
  /**
   * How long the broker waits for a sign of life before others get the partitions. Handlers may run
   * longer: signs of life are given meanwhile.
   *
   * @default {30000}
   */
  readonly sessionTimeoutMs?: number;
  /**
   * How long the broker waits for the members to join again when one comes or goes.
   *
   * @default {60000}
   */
  readonly rebalanceTimeoutMs?: number;
  /**
   * How often a sign of life is given, and so how soon this member notices that another one came.
   *
   * @default {3000}
   */
  readonly heartbeatIntervalMs?: number;
  /**
   * How long the broker may hold an answer back while there is nothing: also how long a stop, and a
   * partition that was paused, may have to wait. Together with `heartbeatIntervalMs` it has to be
   * below `sessionTimeoutMs`.
   *
   * @default {500}
   */
  readonly maxWaitMs?: number;
  /**
   * Most bytes that one fetch brings of one partition.
   *
   * @default {1048576}
   */
  readonly maxBytesPerPartition?: number;
}

/** Where the brokers are, and which tiers there are: the same for the transport and the re-injector. */
export interface BrokerOptions extends GroupOptions {
  /**
   * Where the brokers are: `kafka://host:port,host:port`. A user and a password before them are sent by
   * SASL PLAIN, `?ssl=true` speaks TLS; anything else of that kind is said in `connection`.
   * Contract: K60.
   *
   * @default {"kafka://localhost:9092"}
   */
  readonly url?: string;
  /**
   * A ready client: a `Kafka` of kafkajs, or what `platformaticClient()` makes. A `Kafka` stays yours;
   * producers and consumers made of it are closed with the transport. What `kafkajsClient()` or
   * `platformaticClient()` made is closed with the last transport or re-injector that uses it.
   *
   * @default {undefined}
   */
  readonly client?: KafkaClientLike;
  /**
   * More options for the client that is made, which is kafkajs.
   *
   * @default {{}}
   */
  readonly connection?: ConnectionOptions;
  /**
   * What stands before the name of every queue in the name of its topic. Contract: K3.
   *
   * @default {""}
   */
  readonly prefix?: string;
  /**
   * The retry tiers: on `<topic>.retry.<n>` a record waits so many milliseconds. Without any, nothing
   * can be retried or delayed. They have to rise, and to be the same in every program on the topics.
   * Contract: K20, K21, K25.
   *
   * @default {[]}
   */
  readonly retryTiersMs?: readonly number[];
  /**
   * The group of the re-injectors; everybody's have to be in the same one, or each would forward every
   * record. Contract: K46.
   *
   * @default {"babelqueue-retry-reinject"}
   */
  readonly reinjectGroupId?: string;
}

/** Options of {@linkcode kafka}. */
export interface KafkaOptions extends BrokerOptions {
  /**
   * The consumer group. Contract: K10.
   *
   * @default {"babelqueue"}
   */
  readonly groupId?: string;
  /**
   * Whether the re-injector of a queue's tiers runs in this process while the queue is worked on. One
   * has to run somewhere, or what waits on a tier waits for ever.
   *
   * @default {false}
   */
  readonly reinject?: boolean;
}

/** Options of the broker with every default filled in. */
export interface ResolvedBroker extends Required<GroupOptions> {
  readonly client: KafkaClientLike | undefined;
  /** Options of kafkajs. */
  readonly connection: ConnectionOptions;
  readonly prefix: string;
  readonly tiersMs: readonly number[];
  readonly reinjectGroupId: string;
}

/** Options with every default filled in. */
export interface ResolvedOptions extends ResolvedBroker {
  readonly groupId: string;
  readonly reinject: boolean;
}

const object: OptionCheck = (name, value) => {
  if (typeof value !== "object" || value === null) refuseOption(name, value, "an object");
};
const anyText: OptionCheck = (name, value) => {
  if (typeof value !== "string") refuseOption(name, value, "a string");
};

/** Checks of the options that the re-injector has too. */
export const BROKER_CHECKS: { readonly [K in keyof Required<BrokerOptions>]: OptionCheck } = {
  url: text,
  client: object,
  connection: object,
  prefix: anyText,
  retryTiersMs: checkTiers,
  reinjectGroupId: text,
  sessionTimeoutMs: duration(1),
  rebalanceTimeoutMs: duration(1),
  heartbeatIntervalMs: duration(1),
  maxWaitMs: integer(1),
  maxBytesPerPartition: integer(1),
};

const CHECKS: { readonly [K in keyof Required<KafkaOptions>]: OptionCheck } = {
  ...BROKER_CHECKS,
  groupId: text,
  reinject: flag,
};

/**
 * Checks the options and fills in the defaults.
 *
 * @param given What was given.
 * @returns Every option, set.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 */
export function resolveOptions(given: KafkaOptions): ResolvedOptions {
  const options = checkOptions(given, CHECKS);
  const { groupId = "babelqueue", reinject = false } = options;
  if (reinject && (options.retryTiersMs ?? []).length === 0) {
    throw new BabelQueueError(
      "invalid_option",
      "Cannot use option 'reinject': there are no retry tiers to serve; set 'retryTiersMs'",
    );
  }
  return { ...resolveBroker(options), groupId, reinject };
}

/** Fills in the defaults of options that were checked. */
export function resolveBroker(options: BrokerOptions): ResolvedBroker {
  if (options.url !== undefined && options.client !== undefined) {
    throw new BabelQueueError(
      "invalid_option",
      "Cannot use the options 'url' and 'client' together: each of them says where the brokers are",
    );
  }
  const { sessionTimeoutMs = 30_000, heartbeatIntervalMs = 3_000 } = options;
  if (heartbeatIntervalMs >= sessionTimeoutMs) {
    refuseOption(
      "heartbeatIntervalMs",
      heartbeatIntervalMs,
      `below sessionTimeoutMs, ${sessionTimeoutMs}`,
    );
  }
  const { maxWaitMs = 500 } = options;
  if (maxWaitMs + heartbeatIntervalMs >= sessionTimeoutMs) {
    // Between two signs of life there can be a whole wait.
    refuseOption(
      "maxWaitMs",
      maxWaitMs,
      `together with heartbeatIntervalMs, ${heartbeatIntervalMs}, below sessionTimeoutMs, ${sessionTimeoutMs}`,
    );
  }
  return {
    client: options.client,
    connection: { ...readUrl(options.url ?? "kafka://localhost:9092"), ...options.connection },
    prefix: options.prefix ?? "",
    tiersMs: Object.freeze([...options.retryTiersMs ?? []]),
    reinjectGroupId: options.reinjectGroupId ?? "babelqueue-retry-reinject",
    sessionTimeoutMs,
    heartbeatIntervalMs,
    rebalanceTimeoutMs: options.rebalanceTimeoutMs ?? 60_000,
    maxWaitMs,
    maxBytesPerPartition: options.maxBytesPerPartition ?? 1_048_576,
  };
}

/** `kafka://user:password@host:port,host:port?ssl=true`; the list of hosts is why `URL` cannot read it. */
const SHAPE = /^kafka:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^@/?#]+)\/?(?:\?([^#]*))?$/;
const YES = /^(1|true|yes|on)$/i;
const NO = /^(0|false|no|off)$/i;

/** What a URL says, as options of kafkajs. */
function readUrl(url: string): ConnectionOptions {
  const [, user, password, hosts, query = ""] = SHAPE.exec(url) ?? [];
  if (hosts === undefined) {
    throw new BabelQueueError(
      "invalid_option",
      "Cannot use option 'url': it must be a URL of the form kafka://host:port,host:port, " +
        "without a path; the queue is an option of BabelQueue",
    );
  }
  const said = new URLSearchParams(query);
  for (const [name, value] of said) {
    if (name !== "ssl") refuseOption(`url ${name}`, value, "left out; the URL may only say 'ssl'");
    if (!YES.test(value) && !NO.test(value)) {
      refuseOption("url ssl", value, "one of 1, true, yes, on, 0, false, no, off");
    }
  }
  return {
    brokers: hosts.split(",").map(brokerOf),
    ...(YES.test(said.get("ssl") ?? "") ? { ssl: true } : {}),
    ...(user === undefined ? {} : {
      sasl: {
        mechanism: "plain",
        username: decoded("user", user),
        password: decoded("password", password ?? ""),
      },
    }),
  };
}

/** `host` or `host:port`; kafkajs cannot read the address of an IPv6 host. */
function brokerOf(broker: string): string {
  const [, host, port = "9092"] = /^([^:[\]\s]+)(?::([0-9]+))?$/.exec(broker) ?? [];
  if (host !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return `${host}:${port}`;
  return refuseOption(
    "url",
    broker,
    "a list of brokers, each host or host:port with a port of 1 to 65535; an IPv6 address needs a name",
  );
}

/** The value stays out of the message: it may be a password. */
function decoded(what: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new BabelQueueError(
      "invalid_option",
      `Cannot use option 'url': its ${what} is not percent-encoded; '%' itself is written %25`,
    );
  }
}

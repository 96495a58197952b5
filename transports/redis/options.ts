/**
 * Options of the Redis transport, and what of them a URL can say.
 *
 * @module
 */

import {
  BabelQueueError,
  checkOptions,
  oneOf,
  type OptionCheck,
  refuseOption,
  text,
} from "@bq/core/transport";
import type { RedisClientLike } from "./clients/adapt.ts";

/** Options of ioredis, handed on as they are; for instance `sentinels`, `name`, `tls`, `password`, `family`. */
export interface ConnectionOptions {
  /** One of them. */
  readonly [option: string]: unknown;
}

/** Options of {@linkcode redis}. Give a `url`, or nodes of a `cluster`, or a `client` of your own. */
export interface RedisOptions {
  /**
   * Where the server is: `redis://`, or `rediss://` for TLS. Its query may hold `laravel`, `prefix`,
   * `retry_after` (seconds or `null`) and `migration_batch_size`; options given beside it come first.
   *
   * @default {"redis://localhost:6379/0"}
   */
  readonly url?: string;
  /**
   * A ready client: of ioredis, iovalkey or node-redis (5 or newer), or anything with a raw call that
   * returns bytes. It stays yours, so it is not closed with the transport.
   *
   * @default {undefined}
   */
  readonly client?: RedisClientLike;
  /**
   * URLs of some nodes of a Redis Cluster; the client finds the others. Every queue then needs a hash
   * tag in its name, for instance `{orders}`.
   *
   * @default {undefined}
   */
  readonly cluster?: readonly string[];
  /**
   * More options for the client that the transport makes, which is ioredis.
   *
   * @default {{}}
   */
  readonly connection?: ConnectionOptions;
  /**
   * `legacy`: two lists, as the other SDKs do it by themselves. `zset`: the layout of Laravel, with
   * delays and a count of every delivery. Everybody on a queue needs the same one. Contract: R2.
   *
   * @default {"legacy"}
   */
  readonly layout?: "legacy" | "zset";
  /**
   * What stands before every key in the zset layout.
   *
   * @default {"queues:"}
   */
  readonly prefix?: string;
  /**
   * How long a message is reserved before another worker gets it, in milliseconds, rounded up to whole
   * seconds; above 1,000, since a score of whole seconds could not be moved forward within one. A worker extends it while its handler runs. Null: never, an operator has to act.
   * Contract: R16, R49, R67.
   *
   * @default {90000}
   */
  readonly retryAfterMs?: number | null;
  /**
   * Most messages that are brought back at a time, of those that are due or whose reservation is over;
   * -1 for all. Contract: R13, R69.
   *
   * @default {-1}
   */
  readonly migrationBatchSize?: number;
  /**
   * What the name of the processing list ends with, in the legacy layout. Contract: R60.
   *
   * @default {":processing"}
   */
  readonly processingSuffix?: string;
  /**
   * How the zset layout counts a delivery: `splice` raises the digits and keeps every other byte,
   * `cjson` writes what Laravel would, which turns `[]` into `{}` and rounds numbers. The value is the
   * same to every SDK.
   *
   * @default {"splice"}
   */
  readonly reserve?: "splice" | "cjson";
  /**
   * Most messages that one call reserves, as far as handlers are free. 1 for one at a time.
   *
   * @default {64}
   */
  readonly batchSize?: number;
}

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly url: string;
  readonly client: RedisClientLike | undefined;
  readonly cluster: readonly string[] | undefined;
  readonly connection: ConnectionOptions;
  readonly layout: "legacy" | "zset";
  readonly prefix: string;
  /** Whole seconds, or null. */
  readonly retryAfter: number | null;
  readonly migrationBatchSize: number;
  readonly processingSuffix: string;
  readonly reserve: "splice" | "cjson";
  readonly batchSize: number;
}

const object: OptionCheck = (name, value) => {
  if (typeof value !== "object" || value === null) refuseOption(name, value, "an object");
};

const CHECKS: { readonly [K in keyof Required<RedisOptions>]: OptionCheck } = {
  url: (name, value) => {
    text(name, value);
    if (!/^rediss?:\/\//.test(value as string) || !URL.canParse(value as string)) {
      throw new BabelQueueError(
        "invalid_option",
        `Cannot use option '${name}': it must be a URL of the form redis://host:port/db`,
      );
    }
    const { pathname } = new URL(value as string);
    if (!/^\/?[0-9]*$/.test(pathname)) {
      refuseOption(
        `${name} path`,
        pathname,
        "a database number; the queue is an option of BabelQueue, not of the URL",
      );
    }
  },
  client: () => {},
  cluster: (name, value) => {
    if (!Array.isArray(value) || value.length === 0) refuseOption(name, value, "a list of URLs");
    for (const [at, node] of (value as unknown[]).entries()) CHECKS.url(`${name}[${at}]`, node);
  },
  connection: object,
  layout: oneOf("legacy", "zset"),
  prefix: (name, value) => {
    if (typeof value !== "string") refuseOption(name, value, "a string");
  },
  retryAfterMs: (name, value) => {
    if (value === null) return;
    if (typeof value !== "number" || !(value > 1_000) || value > Number.MAX_SAFE_INTEGER) {
      refuseOption(name, value, "null, or a number of milliseconds above 1000");
    }
  },
  migrationBatchSize: (name, value) => {
    if (!Number.isSafeInteger(value) || ((value as number) < 1 && value !== -1)) {
      refuseOption(name, value, "-1, or an integer of at least 1");
    }
  },
  processingSuffix: text,
  reserve: oneOf("splice", "cjson"),
  batchSize: (name, value) => {
    if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > 1_000) {
      refuseOption(name, value, "an integer from 1 to 1000");
    }
  },
};

/**
 * Checks the options, adds what the URL's query says, and fills in the defaults.
 *
 * @param given What was given.
 * @returns Every option, set.
 * @throws {BabelQueueError} `invalid_option`, naming option, value and bound.
 */
export function resolveOptions(given: RedisOptions): ResolvedOptions {
  const options = checkOptions(given, CHECKS);
  refuseTwoPlaces(options);
  const { url, said } = readUrl(options.url ?? "redis://localhost:6379/0");
  checkOptions(said, CHECKS, "url.");
  const all: RedisOptions = { ...said, ...options };
  const layout = all.layout ?? "legacy";
  refuseForeign(all, layout);
  const retryAfterMs = all.retryAfterMs === undefined ? 90_000 : all.retryAfterMs;
  return {
    url,
    client: all.client,
    cluster: all.cluster,
    connection: all.connection ?? {},
    layout,
    prefix: all.prefix ?? "queues:",
    retryAfter: retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1_000),
    migrationBatchSize: all.migrationBatchSize ?? -1,
    processingSuffix: all.processingSuffix ?? ":processing",
    reserve: all.reserve ?? "splice",
    batchSize: all.batchSize ?? 64,
  };
}

/** Reads what the query says about this transport, and leaves the rest of the URL to the client. Contract: R90. */
function readUrl(text: string): { url: string; said: RedisOptions } {
  const url = new URL(text);
  const query = url.searchParams;
  const take = (name: string): string | null => {
    const value = query.get(name);
    query.delete(name);
    return value;
  };
  const laravel = [take("laravel"), take("laravel_compat")].filter((value) => value !== null);
  const prefix = take("prefix");
  const retryAfter = take("retry_after");
  const batch = take("migration_batch_size");
  for (const value of laravel) {
    if (!/^(1|true|yes|on|0|false|no|off)$/i.test(value)) {
      refuseOption("url laravel", value, "one of 1, true, yes, on, 0, false, no, off");
    }
  }
  // Left in the URL it would go to the client, which does not know it either.
  for (const name of [...query.keys()]) {
    if (Object.hasOwn(CHECKS, name)) {
      refuseOption(`url ${name}`, query.get(name), "given as an option, not in the URL");
    }
  }
  const zset = laravel.some((value) => /^(1|true|yes|on)$/i.test(value));
  return {
    url: url.href,
    said: {
      ...(zset ? { layout: "zset" } : {}),
      // Without the layout that has one, a prefix would change nothing.
      ...(prefix === null || !zset ? {} : { prefix }),
      ...(retryAfter === null ? {} : { retryAfterMs: secondsIn(retryAfter) }),
      ...(batch === null ? {} : { migrationBatchSize: Number(batch || NaN) }),
    },
  };
}

function secondsIn(text: string): number | null {
  if (text === "null") return null;
  const seconds = Number(text || NaN);
  if (!(seconds > 1)) refuseOption("url retry_after", text, "null, or a number of seconds above 1");
  return seconds * 1_000;
}

function refuseTwoPlaces(options: RedisOptions): void {
  const places = (["url", "client", "cluster"] as const)
    .filter((name) => options[name] !== undefined);
  if (places.length > 1) {
    throw new BabelQueueError(
      "invalid_option",
      `Cannot use the options ${places.map((name) => `'${name}'`).join(" and ")} together: ` +
        "each of them says where the server is",
    );
  }
}

function refuseForeign(options: RedisOptions, layout: "legacy" | "zset"): void {
  const foreign = layout === "zset"
    ? ["processingSuffix"] as const
    : ["prefix", "reserve"] as const;
  const name = foreign.find((candidate) => options[candidate] !== undefined);
  if (name === undefined) return;
  throw new BabelQueueError(
    "invalid_option",
    `Cannot set option '${name}': the ${layout} layout has no use for it`,
  );
}

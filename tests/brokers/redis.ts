/**
 * Starts Redis or Valkey, single or as a cluster of three masters.
 *
 * @module
 */

import { environment } from "../harness.ts";
import type { Certificates } from "./_certificates.ts";
import { absent, foreignBroker, type RunningBroker } from "./broker.ts";
import { formCluster } from "./_redis_cluster.ts";
import { type RedisKind, redisProgram } from "./_redis_program.ts";
import { RespClient } from "./resp.ts";
import { Server, type ServerRecipe } from "./_server.ts";

/** Which Redis to start. */
export interface RedisOptions {
  /**
   * The server.
   *
   * @default {"redis"}
   */
  readonly kind?: RedisKind;
  /**
   * Three masters without replicas instead of one server.
   *
   * @default {false}
   */
  readonly cluster?: boolean;
  /**
   * Lines of the configuration, for instance `["maxmemory", "20mb"]`. A broker of the environment is
   * not used then.
   *
   * @default {[]}
   */
  readonly conf?: readonly (readonly [string, string])[];
  /**
   * Whether what was stored outlives a restart and a SIGKILL. A broker of the environment is not used
   * then.
   *
   * @default {false}
   */
  readonly persistent?: boolean;
  /**
   * Whether the test restarts, kills or freezes it, so that it must have been started here.
   *
   * @default {false}
   */
  readonly own?: boolean;
  /**
   * Listens with TLS as well, {@linkcode TLS_OFFSET} ports above its own. A broker of the environment
   * is not used then.
   *
   * @default {undefined}
   */
  readonly tls?: Certificates;
}

/** A server may take this long for an answer before it is asked anew, in milliseconds. */
const ANSWER_TIMEOUT_MS = 1_000;
/** From a node's port to its port for the other nodes. */
const BUS_OFFSET = 10_000;
/** From a server's port to the one on which it speaks TLS, where it does. */
export const TLS_OFFSET = 10_000;
const CLUSTER_NODES = 3;

/** Lays the certificates into the server's folder and becomes the server. */
const WITH_FILES = `
printf %s "$1" >ca.pem && printf %s "$2" >cert.pem && printf %s "$3" >key.pem || exit 1
shift 3
exec "$@"
`;
const TLS_FILES: readonly string[] = [
  ...["--tls-ca-cert-file", "ca.pem", "--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem"],
  ...["--tls-auth-clients", "no"],
];

function variableOf({ kind = "redis", cluster = false }: RedisOptions): string {
  if (cluster) return kind === "redis" ? "BQ_TEST_REDIS_CLUSTER_URL" : "BQ_TEST_VALKEY_CLUSTER_URL";
  return kind === "redis" ? "BQ_TEST_REDIS_URL" : "BQ_TEST_VALKEY_URL";
}

/** The broker that the environment names, if it may serve. */
function named(options: RedisOptions): RunningBroker | undefined {
  const { conf, persistent, own, tls } = options;
  if (conf !== undefined || persistent || own || tls !== undefined) return undefined;
  const variable = variableOf(options);
  const url = environment(variable);
  return url === undefined || url === "" ? undefined : foreignBroker(url, variable);
}

/**
 * Says whether tests that need this Redis have to be skipped, for `ignore` of a test. Gets Valkey
 * from the Python registry when it is missing.
 */
export function absentRedis(options: RedisOptions = {}): Promise<boolean> {
  const { kind = "redis", cluster = false } = options;
  if (named(options) !== undefined) return Promise.resolve(false);
  return absent(cluster ? `${kind} cluster` : kind, () => redisProgram(kind));
}

/**
 * Gives the Redis that the environment names (`BQ_TEST_REDIS_URL`, `BQ_TEST_REDIS_CLUSTER_URL`,
 * `BQ_TEST_VALKEY_URL`, `BQ_TEST_VALKEY_CLUSTER_URL`), else starts one on a free port of 127.0.0.1
 * that ends with this process.
 *
 * @throws {BrokerAbsentError} when it cannot be had; ask {@linkcode absentRedis} before.
 *
 * @example
 * ```ts ignore
 * const redis = await startRedis({ persistent: true });
 * await redis.restart();
 * await redis.stop();
 * ```
 */
export async function startRedis(options: RedisOptions = {}): Promise<RunningBroker> {
  const { kind = "redis", cluster = false } = options;
  const foreign = named(options);
  if (foreign !== undefined) return foreign;
  const recipe = recipeOf(await redisProgram(kind), options);
  const started = await Promise.allSettled(
    Array.from({ length: cluster ? CLUSTER_NODES : 1 }, () => Server.start(recipe)),
  );
  const servers = started.flatMap((one) => one.status === "fulfilled" ? [one.value] : []);
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
  };
  try {
    const failure = started.find((one) => one.status === "rejected");
    if (failure !== undefined) throw failure.reason;
    if (cluster) await formCluster(servers.map(({ port }) => port), BUS_OFFSET);
  } catch (error) {
    await stop();
    throw error;
  }
  return running(servers, cluster, stop);
}

function running(
  servers: readonly Server[],
  cluster: boolean,
  stop: () => Promise<void>,
): RunningBroker {
  const ports = servers.map(({ port }) => port);
  const port = ports[0] ?? 0;
  const each = async (work: (server: Server) => unknown): Promise<void> => {
    await Promise.all(servers.map(work));
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    ports,
    owned: true,
    async restart(): Promise<void> {
      await each((server) => server.restart());
      if (cluster) await formCluster(ports, BUS_OFFSET);
    },
    kill: () => each((server) => server.kill()),
    pause: () => each((server) => server.pause()),
    resume: () => each((server) => server.resume()),
    stop,
  };
}

function recipeOf(program: string, options: RedisOptions): ServerRecipe {
  const { kind = "redis", cluster = false, conf = [], persistent = false, tls } = options;
  return {
    name: kind,
    ...(cluster ? { offsets: [BUS_OFFSET] } : tls ? { offsets: [TLS_OFFSET] } : {}),
    answers,
    command(port: number): string[] {
      return [
        ...(tls === undefined ? [] : ["sh", "-c", WITH_FILES, "sh", tls.ca, tls.cert, tls.key]),
        program,
        ...["--port", `${port}`, "--bind", "127.0.0.1", "--daemonize", "no", "--save", ""],
        // Without fsync every write still reaches the system before it is answered, and is never
        // put off; only a power cut could lose it.
        ...(persistent ? ["--appendonly", "yes", "--appendfsync", "no"] : ["--appendonly", "no"]),
        ...(cluster ? ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"] : []),
        ...(tls ? ["--tls-port", `${port + TLS_OFFSET}`, ...TLS_FILES] : []),
        ...conf.flatMap(([name, value]) => [`--${name}`, ...value.split(" ")]),
      ];
    },
  };
}

/**
 * Whether this very server answers. One that loads its data does not; of one that wants a password it
 * cannot be told which process it is.
 */
export async function answers(port: number, pid: number): Promise<boolean> {
  let client: RespClient | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    client = await RespClient.connect(port);
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve("late"), ANSWER_TIMEOUT_MS);
    });
    if (await Promise.race([client.text("PING"), late]) !== "PONG") return false;
    const about = await Promise.race([client.text("INFO", "server"), late]);
    return about.includes(`process_id:${pid}\r`);
  } catch (error) {
    return (error as Error).message.startsWith("NOAUTH");
  } finally {
    clearTimeout(timer);
    await client?.close();
  }
}

/**
 * Starts RabbitMQ, or gives the one that the environment names.
 *
 * @module
 */

import { connect } from "node:net";
import { environment } from "../harness.ts";
import type { Certificates } from "./_certificates.ts";
import { absent, foreignBroker, type RunningBroker } from "./broker.ts";
import { control, nodeCommand, OFFSETS, rabbitmqScripts } from "./_rabbitmq_program.ts";
import { owned, Server, type ServerRecipe } from "./_server.ts";

/** Which RabbitMQ to start. */
export interface RabbitmqOptions {
  /**
   * Lines of the configuration, for instance `["heartbeat = 1"]`. A broker of the environment is not
   * used then.
   *
   * @default {[]}
   */
  readonly conf?: readonly string[];
  /**
   * Further arguments of the virtual machine, for what no line of the configuration can say. A broker
   * of the environment is not used then.
   *
   * @default {""}
   */
  readonly vm?: string;
  /**
   * Listens with TLS as well, three ports above its own. A broker of the environment is not used then.
   *
   * @default {undefined}
   */
  readonly tls?: Certificates;
  /**
   * Whether the test restarts, kills, freezes or controls it, so that it must have been started here.
   *
   * @default {false}
   */
  readonly own?: boolean;
}

/** A RabbitMQ that answers. What was stored as durable outlives a restart and a SIGKILL. */
export interface RunningRabbitmq extends RunningBroker {
  /** Where it listens with TLS, if it does. */
  readonly tlsUrl: string;
  /** Runs `rabbitmqctl` on it and gives what it wrote. Rejects for a broker that the environment named. */
  ctl(...args: readonly string[]): Promise<string>;
}

const VARIABLE = "BQ_TEST_RABBITMQ_URL";
/** A node boots in 4 s on an idle machine, and several may boot at a time. */
const START_TIMEOUT_MS = 90_000;
/** A node may take this long for an answer before it is asked anew, in milliseconds. */
const ANSWER_TIMEOUT_MS = 2_000;
/** From a node's port to the one with TLS. */
const TLS_OFFSET = 3;
const TLS_CONF: readonly string[] = [
  "ssl_options.cacertfile = {folder}/ca.pem",
  "ssl_options.certfile = {folder}/cert.pem",
  "ssl_options.keyfile = {folder}/key.pem",
  "ssl_options.verify = verify_none",
];
const WITH_FILES =
  `printf %s "$1" >ca.pem; printf %s "$2" >cert.pem; printf %s "$3" >key.pem; shift 3; exec "$@"`;
const PROTOCOL_HEADER = "AMQP\0\0\x09\x01";

/** The broker that the environment names, if it may serve. */
function named({ conf, vm, own, tls }: RabbitmqOptions): RunningRabbitmq | undefined {
  if (conf !== undefined || vm !== undefined || tls !== undefined || own) return undefined;
  const url = environment(VARIABLE);
  if (url === undefined || url === "") return undefined;
  const ctl = (): Promise<never> =>
    Promise.reject(new Error(`Cannot control the broker at '${url}': ${VARIABLE} named it`));
  return { ...foreignBroker(url, VARIABLE), tlsUrl: "", ctl };
}

/** Says whether tests that need this RabbitMQ have to be skipped, for `ignore` of a test. */
export function absentRabbitmq(options: RabbitmqOptions = {}): Promise<boolean> {
  if (named(options) !== undefined) return Promise.resolve(false);
  return absent("rabbitmq", () => rabbitmqScripts());
}

/**
 * Gives the RabbitMQ that `BQ_TEST_RABBITMQ_URL` names, else starts one on a free port of 127.0.0.1
 * that ends with this process.
 *
 * @throws {BrokerAbsentError} when it cannot be had; ask {@linkcode absentRabbitmq} before.
 *
 * @example
 * ```ts ignore
 * const rabbitmq = await startRabbitmq({ own: true });
 * await rabbitmq.ctl("list_queues", "name", "messages_unacknowledged");
 * await rabbitmq.stop();
 * ```
 */
export async function startRabbitmq(options: RabbitmqOptions = {}): Promise<RunningRabbitmq> {
  const foreign = named(options);
  if (foreign !== undefined) return foreign;
  const scripts = await rabbitmqScripts();
  const server = await Server.start(recipeOf(scripts, options));
  const { port } = server;
  return {
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    tlsUrl: `amqps://guest:guest@127.0.0.1:${port + TLS_OFFSET}`,
    ...owned(server),
    ctl: async (...args) => await control(scripts, await server.folder, ...args),
  };
}

function recipeOf(scripts: string, { conf = [], vm = "", tls }: RabbitmqOptions): ServerRecipe {
  const files = tls ? ["sh", "-c", WITH_FILES, "sh", tls.ca, tls.cert, tls.key] : [];
  const lines = (port: number): readonly string[] =>
    tls ? [...conf, `listeners.ssl.1 = 127.0.0.1:${port + TLS_OFFSET}`, ...TLS_CONF] : conf;
  return {
    name: "rabbitmq",
    offsets: OFFSETS,
    startTimeoutMs: START_TIMEOUT_MS,
    command: (port) => [...files, ...nodeCommand(scripts, port, vm, lines(port))],
    answers,
  };
}

/** Whether the node that is named for this port opens the protocol; it tells its name in the first frame. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let said = "";
    const end = (answer: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => end(false), ANSWER_TIMEOUT_MS);
    socket.once("connect", () => socket.write(PROTOCOL_HEADER, "latin1"));
    socket.on("data", (bytes) => {
      said += bytes.toString("latin1");
      if (said.includes(`bq${port}@`)) end(true);
    });
    socket.once("error", () => end(false));
    socket.once("close", () => end(false));
  });
}

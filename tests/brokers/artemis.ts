/**
 * Starts Apache ActiveMQ Artemis from the jars that its project publishes.
 *
 * @module
 */

import { environment } from "../harness.ts";
import { amqpAnswers } from "./_amqp.ts";
import { ARTEMIS_USER, type ArtemisConfig, startScript, USERS_OFFSET } from "./_artemis_config.ts";
import type { Certificates } from "./_certificates.ts";
import { mavenJars } from "./_maven.ts";
import { mayInstall } from "./_packages.ts";
import { owned, Server } from "./_server.ts";
import { absent, foreignBroker, type RunningBroker } from "./broker.ts";

/** Which Artemis to start. */
export interface ArtemisOptions {
  /**
   * Whether the test restarts, kills or freezes it, or needs what only one that was started here has,
   * so that it must have been started here.
   *
   * @default {false}
   */
  readonly own?: boolean;
  /**
   * Deliveries after which the broker itself moves a message to its dead-letter address, which is
   * `DLA`; -1 for never. A broker of the environment is not used then.
   *
   * @default {-1}
   */
  readonly maxDeliveryAttempts?: number;
  /**
   * What the port proves itself with; then it speaks TLS. A broker of the environment is not used
   * then.
   *
   * @default {undefined}
   */
  readonly certificates?: Certificates;
}

/** An Artemis that answers. Its queues and what is in them outlive a restart and a SIGKILL. */
export interface RunningArtemis extends RunningBroker {
  /** Where it wants the user and the password `test`; undefined for a broker of the environment. */
  readonly usersUrl: string | undefined;
}

/** The newest version of which every jar is published. */
const VERSION = "2.55.0";
const ARTIFACTS: readonly string[] = [
  `org.apache.artemis:artemis-server:${VERSION}`,
  `org.apache.artemis:artemis-amqp-protocol:${VERSION}`,
  `org.apache.artemis:artemis-jakarta-client:${VERSION}`,
  "org.slf4j:slf4j-jdk14:2.0.17",
];
const VARIABLE = "BQ_TEST_ARTEMIS_URL";

/**
 * Folder of Artemis' jars, the broker's and its JMS client's; gets them where they are missing.
 *
 * @param allowed Whether Java and Maven may be installed system-wide.
 * @throws {BrokerAbsentError} when they cannot be had.
 */
export function artemisJars(allowed: boolean = mayInstall()): Promise<string> {
  return mavenJars(`bq-brokers/artemis-${VERSION}`, ARTIFACTS, allowed);
}

function named(options: ArtemisOptions): RunningArtemis | undefined {
  if (
    options.own || options.maxDeliveryAttempts !== undefined || options.certificates !== undefined
  ) {
    return undefined;
  }
  const url = environment(VARIABLE);
  if (url === undefined || url === "") return undefined;
  return { ...foreignBroker(url, VARIABLE), usersUrl: undefined };
}

/** Says whether tests that need Artemis have to be skipped, for `ignore` of a test. */
export function absentArtemis(options: ArtemisOptions = {}): Promise<boolean> {
  if (named(options) !== undefined) return Promise.resolve(false);
  return absent("artemis", () => artemisJars());
}

/**
 * Gives the Artemis that the environment names (`BQ_TEST_ARTEMIS_URL`), else starts one on a free port
 * of 127.0.0.1 that ends with this process.
 *
 * @throws {BrokerAbsentError} when it cannot be had; ask {@linkcode absentArtemis} before.
 */
export async function startArtemis(options: ArtemisOptions = {}): Promise<RunningArtemis> {
  const foreign = named(options);
  if (foreign !== undefined) return foreign;
  const jars = await artemisJars();
  const { maxDeliveryAttempts = -1, certificates } = options;
  const config: ArtemisConfig = { maxDeliveryAttempts, certificates };
  const server = await Server.start({
    name: "Artemis",
    offsets: [USERS_OFFSET],
    startTimeoutMs: 60_000,
    // With TLS on the first port the second one tells, and opens after it.
    answers: (port, pid) =>
      certificates === undefined ? answers(port, pid) : answers(port + USERS_OFFSET, pid),
    command(port): string[] {
      const args = [`${port}`, `${port + USERS_OFFSET}`, jars];
      return ["sh", "-c", startScript(config), "artemis", ...args];
    },
  });
  const { port } = server;
  const credentials = `${ARTEMIS_USER}:${ARTEMIS_USER}`;
  return {
    // Over TLS this broker lets nobody in without a name.
    url: certificates === undefined
      ? `artemis://127.0.0.1:${port}`
      : `artemis+ssl://${credentials}@127.0.0.1:${port}`,
    usersUrl: `artemis://${credentials}@127.0.0.1:${port + USERS_OFFSET}`,
    ...owned(server),
  };
}

/**
 * Whether this very process answers: the mechanisms that it offers carry its number. Where nobody may
 * come in without a name they are all that is told, else a whole handshake follows.
 */
function answers(port: number, pid: number): Promise<boolean> {
  const mechanism = `BQ-${pid}`;
  const enough = (heard: string): boolean =>
    heard.includes(mechanism) && (!heard.includes("ANONYMOUS") || heard.includes("product"));
  return amqpAnswers(port, enough);
}

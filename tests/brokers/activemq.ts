/**
 * Starts Apache ActiveMQ Classic from the jars that its project publishes.
 *
 * @module
 */

import { environment } from "../harness.ts";
import { amqpAnswers } from "./_amqp.ts";
import { javaCommand } from "./_java.ts";
import { mavenJars } from "./_maven.ts";
import { mayInstall } from "./_packages.ts";
import { owned, Server } from "./_server.ts";
import { absent, foreignBroker, type RunningBroker } from "./broker.ts";

/** Which ActiveMQ Classic to start. */
export interface ActivemqOptions {
  /**
   * Whether the test restarts, kills or freezes it, so that it must have been started here.
   *
   * @default {false}
   */
  readonly own?: boolean;
}

const VERSION = "6.3.1";
const ARTIFACTS: readonly string[] = [
  `org.apache.activemq:activemq-broker:${VERSION}`,
  `org.apache.activemq:activemq-amqp:${VERSION}`,
  `org.apache.activemq:activemq-kahadb-store:${VERSION}`,
  "org.slf4j:slf4j-jdk14:2.0.17",
];
const VARIABLE = "BQ_TEST_ACTIVEMQ_URL";

/**
 * Folder of the jars of ActiveMQ Classic; gets them where they are missing.
 *
 * @param allowed Whether Java and Maven may be installed system-wide.
 * @throws {BrokerAbsentError} when they cannot be had.
 */
export function activemqJars(allowed: boolean = mayInstall()): Promise<string> {
  return mavenJars(`bq-brokers/activemq-${VERSION}`, ARTIFACTS, allowed);
}

function named({ own = false }: ActivemqOptions): RunningBroker | undefined {
  const url = own ? undefined : environment(VARIABLE);
  return url === undefined || url === "" ? undefined : foreignBroker(url, VARIABLE);
}

/** Says whether tests that need ActiveMQ Classic have to be skipped, for `ignore` of a test. */
export function absentActivemq(options: ActivemqOptions = {}): Promise<boolean> {
  if (named(options) !== undefined) return Promise.resolve(false);
  return absent("activemq", () => activemqJars());
}

/**
 * Gives the ActiveMQ Classic that the environment names (`BQ_TEST_ACTIVEMQ_URL`), else starts one with
 * its scheduler on a free port of 127.0.0.1 that ends with this process. Its queues and what is in them
 * outlive a restart and a SIGKILL.
 *
 * @throws {BrokerAbsentError} when it cannot be had; ask {@linkcode absentActivemq} before.
 */
export async function startActivemq(options: ActivemqOptions = {}): Promise<RunningBroker> {
  const foreign = named(options);
  if (foreign !== undefined) return foreign;
  const jars = await activemqJars();
  const server = await Server.start({
    name: "ActiveMQ Classic",
    startTimeoutMs: 60_000,
    command: (port) => javaCommand("ActiveMq.java", jars, `${port}`),
    answers: (port, pid) => amqpAnswers(port, (heard) => heard.includes(`pid-${pid}-bq`)),
  });
  return { url: `artemis://127.0.0.1:${server.port}`, ...owned(server) };
}

/**
 * Starts Apache Qpid Broker-J from the jars that its project publishes.
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

/** Which Qpid to start. */
export interface QpidOptions {
  /**
   * Whether the test restarts, kills or freezes it, so that it must have been started here.
   *
   * @default {false}
   */
  readonly own?: boolean;
}

const VERSION = "9.2.1";
const ARTIFACTS: readonly string[] = [
  `org.apache.qpid:qpid-broker-core:${VERSION}`,
  `org.apache.qpid:qpid-broker-plugins-amqp-1-0-protocol:${VERSION}`,
  `org.apache.qpid:qpid-broker-plugins-derby-store:${VERSION}`,
  `org.apache.qpid:qpid-broker-plugins-memory-store:${VERSION}`,
];
const VARIABLE = "BQ_TEST_QPID_URL";

/** Queues are made on use; in the ones whose names begin with `held.` a message can wait for its time. */
const QUEUES = [["held\\..*", true], [".*", false]] as const;

const HOST = {
  type: "DERBY",
  // How often the broker looks for messages whose time has come, in milliseconds; 30,000 by default.
  housekeepingCheckPeriod: 100,
  nodeAutoCreationPolicies: QUEUES.map(([pattern, holdOnPublishEnabled]) => ({
    pattern,
    createdOnPublish: true,
    createdOnConsume: true,
    nodeType: "queue",
    attributes: { holdOnPublishEnabled },
  })),
};

/** The broker's configuration; the program fills in the name, and opens the port. */
const CONFIG = {
  name: "${bq.name}",
  modelVersion: "9.1",
  authenticationproviders: [{ name: "nobody", type: "Anonymous" }],
  virtualhostnodes: [{
    name: "bq",
    type: "JSON",
    defaultVirtualHostNode: true,
    virtualHostInitialConfiguration: JSON.stringify(HOST),
  }],
};

/**
 * Folder of Qpid's jars; gets them where they are missing.
 *
 * @param allowed Whether Java and Maven may be installed system-wide.
 * @throws {BrokerAbsentError} when they cannot be had.
 */
export function qpidJars(allowed: boolean = mayInstall()): Promise<string> {
  return mavenJars(`bq-brokers/qpid-${VERSION}`, ARTIFACTS, allowed);
}

function named({ own = false }: QpidOptions): RunningBroker | undefined {
  const url = own ? undefined : environment(VARIABLE);
  return url === undefined || url === "" ? undefined : foreignBroker(url, VARIABLE);
}

/** Says whether tests that need Qpid have to be skipped, for `ignore` of a test. */
export function absentQpid(options: QpidOptions = {}): Promise<boolean> {
  if (named(options) !== undefined) return Promise.resolve(false);
  return absent("qpid", () => qpidJars());
}

/**
 * Gives the Qpid that the environment names (`BQ_TEST_QPID_URL`), else starts one on a free port of
 * 127.0.0.1 that ends with this process. Its queues and what is in them outlive a restart and a SIGKILL.
 *
 * @throws {BrokerAbsentError} when it cannot be had; ask {@linkcode absentQpid} before.
 */
export async function startQpid(options: QpidOptions = {}): Promise<RunningBroker> {
  const foreign = named(options);
  if (foreign !== undefined) return foreign;
  const jars = await qpidJars();
  const config = `data:;base64,${Buffer.from(JSON.stringify(CONFIG)).toString("base64")}`;
  const server = await Server.start({
    name: "Qpid",
    startTimeoutMs: 60_000,
    command: (port) => javaCommand("Qpid.java", jars, `${port}`, config),
    answers: (port, pid) => amqpAnswers(port, (heard) => heard.includes(`pid-${pid}-bq`)),
  });
  return { url: `artemis://127.0.0.1:${server.port}`, ...owned(server) };
}

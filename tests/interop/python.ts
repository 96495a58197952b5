/** The published Python SDK, from the Python registry. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { absent, BrokerAbsentError } from "../brokers/broker.ts";
import { pythonPackages } from "../brokers/_packages.ts";
import { which } from "../brokers/_shell.ts";
import { Peer } from "./peer.ts";

const REQUIREMENTS = fileURLToPath(new URL("peers/requirements.txt", import.meta.url));
const PROGRAM = fileURLToPath(new URL("peers/peer.py", import.meta.url));

/**
 * Folder of the SDK, for `PYTHONPATH`; gets it into a cache folder when it is missing.
 *
 * @throws {BrokerAbsentError} when it cannot be had.
 */
export async function python(): Promise<string> {
  if (await which("python3") === null) throw new BrokerAbsentError("there is no python3");
  const versions = readFileSync(REQUIREMENTS, "utf8").match(/^[\w-]+==[\w.]+/gm) ?? [];
  return await pythonPackages(`bq-peers/${versions.join("+")}`, "-r", REQUIREMENTS);
}

/** Whether tests with the Python SDK have to be skipped. */
export function absentPython(): Promise<boolean> {
  return absent("Python SDK", python);
}

/** Starts the Python SDK on a Redis. */
export async function startPython(url: string, layout: "legacy" | "zset"): Promise<Peer> {
  const env = { PYTHONPATH: await python(), PYTHONDONTWRITEBYTECODE: "1" };
  return await Peer.start(["python3", PROGRAM, url, layout], env);
}

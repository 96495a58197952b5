/** The published Python SDK, from the Python registry. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { absent, BrokerAbsentError } from "../brokers/broker.ts";
import { pythonPackages } from "../brokers/_packages.ts";
import { which } from "../brokers/_shell.ts";
import { Peer } from "./peer.ts";

const PROGRAM = fileURLToPath(new URL("peers/peer.py", import.meta.url));

/** Brokers that the SDK has a transport for, and whose client is listed here. */
export type PythonBroker = "artemis" | "kafka" | "redis" | "rabbitmq";

/**
 * Folder of the SDK and its client for a broker, for `PYTHONPATH`; gets them into a cache folder when
 * they are missing.
 *
 * @throws {BrokerAbsentError} when they cannot be had.
 */
export async function python(broker: PythonBroker = "redis"): Promise<string> {
  if (await which("python3") === null) throw new BrokerAbsentError("there is no python3");
  const name = broker === "redis" ? "requirements.txt" : `requirements_${broker}.txt`;
  const requirements = fileURLToPath(new URL(`peers/${name}`, import.meta.url));
  const versions = readFileSync(requirements, "utf8").match(/^[\w-]+==[\w.]+/gm) ?? [];
  return await pythonPackages(`bq-peers/${versions.join("+")}`, "-r", requirements);
}

/** Whether tests with the Python SDK have to be skipped. */
export function absentPython(broker: PythonBroker = "redis"): Promise<boolean> {
  return absent("Python SDK", () => python(broker));
}

/**
 * Starts the Python SDK on a broker that it finds by the scheme of the URL.
 *
 * @param more For Kafka the group and the retry tiers, as `group:5000,30000`.
 */
export async function startPythonOn(
  broker: PythonBroker,
  url: string,
  ...more: readonly string[]
): Promise<Peer> {
  const env = { PYTHONPATH: await python(broker), PYTHONDONTWRITEBYTECODE: "1" };
  return await Peer.start(["python3", PROGRAM, url, ...more], env);
}

/** Starts the Python SDK on a Redis. */
export async function startPython(url: string, layout: "legacy" | "zset"): Promise<Peer> {
  const env = { PYTHONPATH: await python(), PYTHONDONTWRITEBYTECODE: "1" };
  return await Peer.start(["python3", PROGRAM, url, layout], env);
}

/** Real Laravel: the queue and Redis components as Debian packages them. */

import { fileURLToPath } from "node:url";
import { absent } from "../brokers/broker.ts";
import { debianPackages, mayInstall } from "../brokers/_packages.ts";
import { shell } from "../brokers/_shell.ts";
import { Peer } from "./peer.ts";

const PROGRAM = fileURLToPath(new URL("peers/peer.php", import.meta.url));
const PACKAGES: readonly string[] = [
  "php-cli",
  "php-redis",
  "php-illuminate-queue",
  "php-illuminate-redis",
  "php-illuminate-events",
];
/** Ends well where every component that the peer loads is there. */
const PROBE = `php -r '
  error_reporting(0);
  foreach (["Queue", "Redis", "Events"] as $c) require "Illuminate/$c/autoload.php";
  exit(class_exists("Redis") ? 0 : 1);
'`;

/**
 * Makes sure that Laravel is there.
 *
 * @param allowed Whether packages may be installed system-wide.
 * @throws {BrokerAbsentError} when it cannot be had.
 */
export async function laravel(allowed: boolean = mayInstall()): Promise<void> {
  if ((await shell(PROBE)).code !== 0) await debianPackages("laravel", allowed, ...PACKAGES);
}

/** Whether tests with Laravel have to be skipped. */
export function absentLaravel(): Promise<boolean> {
  return absent("Laravel", laravel);
}

/** Starts Laravel's queue on a Redis. */
export function startLaravel(url: string): Promise<Peer> {
  return Peer.start(["php", PROGRAM, url]);
}

/**
 * Installs what the tests need beside Node and npm: `deno run -A tests/brokers/install.ts redis`.
 * Redis and Laravel come by `apt-get` and need root; Valkey and the Python SDK go into a cache folder.
 * Without a name everything is installed.
 *
 * @module
 */

import process from "node:process";
import { laravel } from "../interop/laravel.ts";
import { python } from "../interop/python.ts";
import { activemqJars } from "./activemq.ts";
import { artemisJars } from "./artemis.ts";
import { kafkaProgram } from "./_kafka_program.ts";
import { qpidJars } from "./qpid.ts";
import { rabbitmqScripts } from "./_rabbitmq_program.ts";
import { redisProgram } from "./_redis_program.ts";

const FIND = new Map<string, () => Promise<unknown>>([
  ["redis", () => redisProgram("redis", true)],
  ["valkey", () => redisProgram("valkey", true)],
  ["rabbitmq", () => rabbitmqScripts(true)],
  ["artemis", () => artemisJars(true)],
  ["activemq", () => activemqJars(true)],
  ["qpid", () => qpidJars(true)],
  ["kafka", () => Promise.all([kafkaProgram("4.4.0", true), kafkaProgram("3.9.2", true)])],
  ["laravel", () => laravel(true)],
  ["python", () => Promise.all([python("redis"), python("rabbitmq"), python("kafka")])],
]);

const names = process.argv.slice(2);
for (const name of names.length === 0 ? FIND.keys() : names) {
  const find = FIND.get(name);
  if (find === undefined) {
    console.error(`Cannot install '${name}': choose of ${[...FIND.keys()].join(", ")}`);
    process.exit(2);
  }
  try {
    await find();
    console.log(`${name}: ok`);
  } catch (error) {
    console.error(`${name}: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}

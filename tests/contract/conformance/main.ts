/**
 * Runs a conformance suite, prints what became of every section and writes the results file.
 *
 * `BQ_CONFORMANCE_DIR` names the folder of the suite (default: the project's own vectors beside this
 * folder), `BQ_RESULTS` the results file (default `.out/results.json`). What needs a server is tried on
 * one that is started for it, or named by `BQ_TEST_REDIS_URL` and its like; without one those cases have no result,
 * and with `BQ_REQUIRE_REDIS` they fail.
 *
 * The suite knows three results, pass, fail and skip, and wants every case of every section in scope.
 * A section whose subject is not built yet is neither left out nor skipped, since no decision record
 * allows that: its cases are written as `fail`, with the missing part as the reason, and the run says
 * so in a line of its own. Such cases alone do not make the program fail; a wrong answer, an unknown
 * or missing section, and a section that still waits for a part that exists do.
 *
 * @module
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import process from "node:process";
import { conformance, OWN_SUITE, ROOT } from "./conformance.ts";
import { reportOf } from "./report.ts";
import { failuresOf, type Servers } from "./run.ts";
import {
  BrokerAbsentError,
  type RunningBroker,
  startArtemis,
  startKafka,
  startRabbitmq,
  startRedis,
} from "../../brokers/mod.ts";

const folder = resolve(process.env["BQ_CONFORMANCE_DIR"] || OWN_SUITE);
const file = resolve(process.env["BQ_RESULTS"] || resolve(ROOT, ".out/results.json"));
const started: RunningBroker[] = [];

/** A broker that is started once, if it can be had. */
function once(start: () => Promise<RunningBroker>): () => Promise<RunningBroker | undefined> {
  let broker: Promise<RunningBroker | undefined> | undefined;
  return () =>
    broker ??= start().then((running) => {
      started.push(running);
      return running;
    }).catch((error) => {
      if (error instanceof BrokerAbsentError) return undefined;
      throw error;
    });
}

const artemis = once(() => startArtemis());
const kafka = once(() => startKafka());
const redis = once(() => startRedis());
const rabbitmq = once(() => startRabbitmq());
const servers: Servers = {
  artemis: async () => (await artemis())?.url,
  kafka: async () => (await kafka())?.port,
  redis: async () => (await redis())?.port,
  rabbitmq: async () => (await rabbitmq())?.url,
};
const { suite, bindings, sections, results } = await conformance(folder, servers);
await Promise.all(started.map((broker) => broker.stop()));
for (const line of reportOf(suite, sections, bindings)) console.log(line);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
console.log(`results: ${file}`);
process.exitCode = failuresOf(sections).length === 0 ? 0 : 1;

/** The examples that need a broker. */

import assert from "node:assert/strict";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { child, requireOrSkip, type Runtime, runtimePath, test } from "../harness.ts";
import { fresh } from "./lab.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());

const START: Readonly<Record<Runtime, readonly string[]>> = {
  deno: ["run", "--no-prompt", "--allow-net=127.0.0.1", "--allow-read", "--ignore-env"],
  bun: ["run"],
  node22: [],
  node24: [],
};

async function run(runtime: Runtime, name: string, ...args: string[]): Promise<string> {
  const ended = await child(runtime, [...START[runtime], `examples/${name}`, ...args]);
  assert.equal(ended.timedOut, false, `it did not end by itself: ${ended.stdout}${ended.stderr}`);
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  return ended.stdout;
}

for (const runtime of Object.keys(START) as Runtime[]) {
  const absent = requireOrSkip(runtime, runtimePath(runtime) !== null, "run 'npm ci'");
  test(`the examples for Kafka work and end by themselves on ${runtime}`, async () => {
    const queue = fresh();
    assert.match(await run(runtime, "kafka_producer.ts", broker().url, queue), /published 3 more/);
    const worked = await run(runtime, "kafka_worker.ts", broker().url, queue, "5");
    assert.match(worked, /order 1042, attempt 1/);
    assert.match(worked, /order 3, attempt 2/);
    assert.match(worked, /reminded of order 1042/);
    assert.match(worked, /stopped in order/);
    assert.doesNotMatch(worked, /check:/);
  }, { ignore: ignore || absent });
}

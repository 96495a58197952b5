/** The examples that need a RabbitMQ. */

import assert from "node:assert/strict";
import { absentRabbitmq, brokerOfFile, startRabbitmq } from "../brokers/mod.ts";
import { child, requireOrSkip, type Runtime, runtimePath, test } from "../harness.ts";
import { freshQueue } from "./admin.ts";

const ignore = await absentRabbitmq();
const broker = brokerOfFile(ignore, () => startRabbitmq());

/** The client needs the network and nothing else; the examples read their arguments. */
const START: Readonly<Record<Runtime, readonly string[]>> = {
  deno: ["run", "--no-prompt", "--allow-net=127.0.0.1"],
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
  test(`the examples for RabbitMQ work and end by themselves on ${runtime}`, async () => {
    const queue = freshQueue();
    const { url } = broker();
    assert.match(await run(runtime, "rabbitmq_producer.ts", url, queue), /published 3 more/);
    const worked = await run(runtime, "rabbitmq_worker.ts", url, queue, "5");
    assert.match(worked, /order 1042, attempt 2/);
    assert.match(worked, /reminded of order 1042/);
    assert.match(worked, /stopped in order/);
  }, { ignore: ignore || absent });
}

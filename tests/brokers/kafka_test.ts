/** The launcher of Kafka: what it starts answers, comes back with what it had, and goes. */

import assert from "node:assert/strict";
import { BrokerAbsentError } from "./broker.ts";
import { test } from "../harness.ts";
import { fresh, openLab } from "../kafka/lab.ts";
import { kafkaProgram } from "./_kafka_program.ts";
import { absentKafka, startKafka } from "./mod.ts";

const ignore = await absentKafka({ own: true });

test("startKafka() starts a broker that keeps what it has over a restart and a kill", async () => {
  const broker = await startKafka({ own: true, conf: [["num.partitions", "2"]] });
  assert.equal(broker.url, `kafka://127.0.0.1:${broker.port}`);
  const topic = fresh();
  const lab = openLab(broker);
  await lab.topics([topic]);
  await lab.write(topic, [{ value: "one" }]);
  await lab.close();
  await broker.restart();
  await broker.kill();
  await broker.restart();
  const again = openLab(broker);
  assert.equal((await again.read(topic)).length, 1);
  await again.close();
  await broker.stop();
  const gone = openLab(broker);
  await assert.rejects(gone.client.connect());
  await gone.close();
}, { ignore, timeoutMs: 120_000 });

test("startKafka() names what a broker that cannot start wrote", async () => {
  const conf = [["log.dirs", "/proc/nowhere"]] as const;
  await assert.rejects(startKafka({ conf }), /Cannot start Kafka on port \d+: /);
}, { ignore, timeoutMs: 120_000 });

test("a version that there is not is absent, and the reason names it", async () => {
  await assert.rejects(kafkaProgram("0.0.0" as "4.4.0"), (error) => {
    assert.ok(error instanceof BrokerAbsentError);
    return /kafka_2.13:0.0.0/.test(error.message);
  });
}, { ignore, timeoutMs: 120_000 });

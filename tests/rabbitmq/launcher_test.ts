/** The launcher: what it starts answers, keeps its messages over a restart, and goes entirely. */

import assert from "node:assert/strict";
import amqp from "amqplib";
import { absentRabbitmq, startRabbitmq } from "../brokers/mod.ts";
import { shell } from "../brokers/_shell.ts";
import { test } from "../harness.ts";
import { Admin } from "./admin.ts";

const ignore = await absentRabbitmq({ own: true });

/** Processes whose command line names a port of the node. */
async function processesOf(port: number): Promise<string> {
  const { stdout } = await shell(
    'for p in /proc/[0-9]*; do tr "\\0" " " <$p/cmdline 2>/dev/null | grep -E "bq$1@|epmd.*-port $2" ; done; true',
    `${port}`,
    `${port + 2}`,
  );
  return stdout;
}

test(
  "startRabbitmq() starts a node that answers, keeps messages over restart(), is down after kill(), and leaves nothing",
  async () => {
    const broker = await startRabbitmq({ own: true });
    try {
      assert.equal(broker.owned, true);
      assert.match(broker.url, /^amqp:\/\/guest:guest@127\.0\.0\.1:\d+$/);
      assert.notEqual(await processesOf(broker.port), "");
      const admin = await Admin.open(broker.url, { keep: true });
      await admin.declare("kept");
      await admin.put("kept", "first", { persistent: true });
      await broker.restart();
      await admin.put("kept", "second", { persistent: true });
      assert.equal(await admin.count("kept"), 2);
      assert.match(await broker.ctl("list_queues", "name", "messages"), /^kept\t2$/m);
      await admin.close();
      await broker.kill();
      await assert.rejects(amqp.connect(broker.url));
    } finally {
      await broker.stop();
    }
    await assert.rejects(amqp.connect(broker.url));
    assert.equal(await processesOf(broker.port), "");
  },
  { ignore, timeoutMs: 180_000 },
);

test("startRabbitmq() passes the configuration on", async () => {
  const broker = await startRabbitmq({
    conf: ["channel_max = 7"],
    vm: "-rabbit consumer_timeout 1234",
  });
  try {
    const said = await broker.ctl("eval", "application:get_env(rabbit, consumer_timeout).");
    assert.match(said, /\{ok,1234\}/);
    assert.match(await broker.ctl("eval", "application:get_env(rabbit, channel_max)."), /\{ok,7\}/);
  } finally {
    await broker.stop();
  }
}, { ignore, timeoutMs: 120_000 });

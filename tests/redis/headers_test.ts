/** Headers where there is no place for them. */

import assert from "node:assert/strict";
import { BabelQueue } from "@bq/core";
import { recorder } from "@bq/core/testing";
import { redis } from "@bq/redis";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { freshQueue } from "./lab.ts";

const ignore = await absentRedis();
const broker = brokerOfFile(ignore, () => startRedis());
const URN = "urn:babel:orders:created";

for (const layout of ["zset", "legacy"] as const) {
  const what = layout === "zset"
    ? "are dropped, which is told once"
    : "travel, and nothing is told";
  test(`headers ${what}, ${layout}`, async () => {
    const seen = recorder();
    const bq = new BabelQueue(redis({ url: broker().url, layout }), {
      queue: freshQueue(),
      onEvent: seen,
    });
    const came: string[] = [];
    bq.handle(URN, (_, { headers }) => came.push(Object.keys(headers).join()));
    await bq.publish(URN, {}, { headers: { "": "blank" } });
    assert.deepEqual(seen.of("warning"), []);
    for (let n = 0; n < 3; n++) await bq.publish(URN, {}, { headers: { tenant: "7" } });
    await bq.consume({ maxMessages: 4 });
    const dropped = layout === "zset";
    assert.deepEqual(came, dropped ? ["", "", "", ""] : ["", "tenant", "tenant", "tenant"]);
    const warnings = seen.of("warning").map(({ message }) => message);
    assert.equal(warnings.length, dropped ? 1 : 0);
    if (dropped) assert.match(warnings[0]!, /headers_dropped: headers of a message to 'q-/);
    await bq.close();
  }, { ignore });
}

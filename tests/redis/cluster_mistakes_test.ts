/** A client for one server that was given a node of a cluster. */

import assert from "node:assert/strict";
import { ConnectionError, systemClock } from "@bq/core";
import { redis } from "@bq/redis";
import { absentRedis, brokerOfFile, startRedis } from "../brokers/mod.ts";
import { test } from "../harness.ts";
import { latin, randomBytes } from "./lab.ts";

const ignore = await absentRedis({ cluster: true });
const broker = brokerOfFile(ignore, () => startRedis({ cluster: true }));
const CONTEXT = { clock: systemClock, random: () => 0, bytes: randomBytes, emit: () => {} };

/** What a publish to each of these queues ends with. */
async function problems(queues: readonly string[]): Promise<string[]> {
  const transport = redis({ url: broker().url, layout: "zset" });
  try {
    await transport.open(CONTEXT);
    const found: string[] = [];
    for (const queue of queues) {
      const [outcome] = await transport.publish(queue, [{ body: latin("{}") }]);
      if (outcome!.status === "confirmed") continue;
      const { error } = outcome as { error: Error };
      assert.ok(error instanceof ConnectionError && error.fatal);
      found.push(error.message);
    }
    return found;
  } finally {
    await transport.close();
  }
}

test("a client for one server on a node of a cluster is told what is missing", async () => {
  const [untagged, ...rest] = await problems(["orders"]);
  assert.deepEqual(rest, []);
  assert.match(untagged!, /CROSSSLOT.*option 'cluster' and a hash tag.*'\{orders\}'/);
  // Of three nodes, one has the slot; the others say where it is.
  const tagged = await problems(Array.from({ length: 12 }, (_, n) => `{orders-${n}}`));
  assert.ok(tagged.length > 0);
  for (const message of tagged) assert.match(message, /MOVED.*option 'cluster'/);
}, { ignore });

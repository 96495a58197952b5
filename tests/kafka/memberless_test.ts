/** A client that is told to join anew, cannot at once, and forgets it: it fetches on, a member of nothing. */

import assert from "node:assert/strict";
import { absentKafka, brokerOfFile, startKafka } from "../brokers/mod.ts";
import { B0, U } from "../contract/_vectors.ts";
import { eventually, test } from "../harness.ts";
import { onBench } from "./bench.ts";

const ignore = await absentKafka();
const broker = brokerOfFile(ignore, () => startKafka());

type Method = (options: { readonly groupId: string }) => Promise<unknown>;

/** Lets the next call of a method of the client's own for a group fail. */
async function failOnce(module: string, name: string, groupId: string, error: Error) {
  const { default: { prototype } } = await import(`kafkajs/src/${module}/index.js`);
  const method: Method = prototype[name];
  prototype[name] = function (options: { readonly groupId: string }): Promise<unknown> {
    if (options.groupId !== groupId) return method.call(this, options);
    prototype[name] = method;
    return Promise.reject(error);
  };
}

test(
  "a client that forgot to join anew is given up, and the worker goes on",
  () =>
    onBench(broker(), { sessionTimeoutMs: 3_000, heartbeatIntervalMs: 300 }, async (bench) => {
      const queue = await bench.queue(1);
      const { bq, seen } = bench.app(queue);
      bq.handle(U, () => {});
      const stop = bench.work(bq);
      await bench.lab.write(queue, [{ value: B0 }]);
      await seen.waitFor("handled");
      const unknown = { name: "KafkaJSProtocolError", type: "UNKNOWN_MEMBER_ID", retriable: false };
      const away = { name: "KafkaJSConnectionError", retriable: true };
      const { groupId } = bench;
      const refused = Object.assign(new Error("not aware of this member"), unknown);
      await failOnce("broker", "heartbeat", groupId, refused);
      await failOnce("cluster", "findGroupCoordinator", groupId, Object.assign(new Error(), away));
      await seen.waitFor(() =>
        seen.of("receiveFailed").some(({ error }) => /fetches on/.test(error.message))
      );
      await bench.lab.write(queue, [{ value: B0 }, { value: B0 }]);
      await eventually(async () => assert.equal(await bench.lab.committed(groupId, queue), 3n));
      await stop();
    }),
  { ignore },
);

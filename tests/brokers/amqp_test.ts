/** The launchers of AMQP 1.0 brokers themselves. */

import assert from "node:assert/strict";
import { Peer } from "../artemis/peer.ts";
import { test } from "../harness.ts";
import {
  absentActivemq,
  absentArtemis,
  absentQpid,
  startActivemq,
  startArtemis,
  startQpid,
} from "./mod.ts";

const BROKERS = [
  { name: "Artemis", start: startArtemis, ignore: await absentArtemis({ own: true }) },
  { name: "ActiveMQ Classic", start: startActivemq, ignore: await absentActivemq({ own: true }) },
  { name: "Qpid", start: startQpid, ignore: await absentQpid({ own: true }) },
];

for (const { name, start, ignore } of BROKERS) {
  test(
    `${name} keeps its port and its messages over a restart and a SIGKILL, and ends`,
    async () => {
      const broker = await start({ own: true });
      try {
        const { port } = broker;
        const peer = await Peer.connect(port);
        for (const body of ["one", "two"]) await peer.send("kept", { body });
        await peer.close();
        await broker.restart();
        assert.equal(broker.port, port);
        await broker.kill();
        await assert.rejects(Peer.connect(port));
        await broker.restart();
        const again = await Peer.connect(port);
        const bodies = (await again.receive("kept", 2)).map(({ body }) => body);
        assert.deepEqual(bodies, ["one", "two"]);
        await again.close();
      } finally {
        await broker.stop();
      }
      await assert.rejects(Peer.connect(broker.port));
    },
    { ignore, timeoutMs: 180_000 },
  );
}
